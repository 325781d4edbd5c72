"""Settings of the kernel that it does not take."""


def test_value_that_the_kernel_refuses_is_not_kept(light):
    host = light("trixie")
    done = host.apply([{"name": "set", "sysctl.present": [
        {"name": "net.ipv4.ip_forward"}, {"value": "perhaps"}]}])  # fmt: skip
    assert done.steps["set"].error is not None, done
    assert not host.exists("/etc/sysctl.d/90-eden.conf")


def test_a_setting_that_is_misspelled_is_told_with_its_neighbor(light):
    done = light("trixie").apply([{"name": "set", "sysctl.present": [
        {"name": "vm.swapiness"}, {"value": "10"}]}])  # fmt: skip
    assert done.exit == 1
    message = done.steps["set"].error.message
    assert "no setting 'vm.swapiness'; its neighbor is called 'swappiness'" in message
