"""What sixfold raises."""


class Error(Exception):
    """Says what is wrong, where, and how to fix it.

    ``fault``: the cause. "input": what the caller gave (an option, a file, a shape); "environment": what the process
    runs in (a full disk, no memory); "program": a mistake in sixfold.
    """

    def __init__(self, message: str, fault: str = "input") -> None:
        super().__init__(message, fault)
        self.fault = fault

    def __str__(self) -> str:
        return str(self.args[0])
