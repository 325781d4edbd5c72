"""The binary starts, reports its version, and rejects nonsense with the usage exit code."""


def test_help_is_printed_to_stdout(eden):
    done = eden("help")
    assert done.returncode == 0
    assert "usage" in done.stdout.lower()
    assert done.stderr == ""


def test_version_names_the_program(eden):
    done = eden("version")
    assert done.returncode == 0
    assert done.stdout.startswith("eden ")


def test_unknown_command_is_a_usage_error(eden):
    done = eden("no-such-command")
    assert done.returncode == 64
    assert done.stdout == ""
    assert done.stderr != ""
