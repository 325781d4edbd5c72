"""Kernel settings that the kernel rejects."""


def test_value_rejected_by_the_kernel_is_not_saved(light):
    host = light("trixie")
    done = host.apply([{"name": "set", "sysctl.present": [
        {"name": "net.ipv4.ip_forward"}, {"value": "perhaps"}]}])  # fmt: skip
    assert done.steps["set"].error is not None, done
    assert not host.exists("/etc/sysctl.d/90-eden.conf")


def test_a_misspelled_setting_gets_a_suggestion(light):
    done = light("trixie").apply([{"name": "set", "sysctl.present": [
        {"name": "vm.swapiness"}, {"value": "10"}]}])  # fmt: skip
    assert done.exit == 1
    message = done.steps["set"].error.message
    assert "no parameter 'vm.swapiness'; did you mean 'swappiness'" in message
