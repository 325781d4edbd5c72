"""Settings of the kernel that it does not take."""


def test_value_that_the_kernel_refuses_is_not_kept(light):
    host = light("trixie")
    done = host.apply([{"name": "set", "sysctl.present": [
        {"name": "net.ipv4.ip_forward"}, {"value": "perhaps"}]}])  # fmt: skip
    assert done.steps["set"].error is not None, done
    assert not host.exists("/etc/sysctl.d/90-eden.conf")
