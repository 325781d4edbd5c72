"""Actions on the page of a cluster."""


def log_in(page, token):
    """As a user who types."""
    page.wait("!document.getElementById('login').hidden")
    page.run("document.getElementById('token').focus()")
    page.call("Input.insertText", text=token)
    page.run("document.querySelector('#login-form button').click()")
