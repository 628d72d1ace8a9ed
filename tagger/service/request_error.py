"""A request that is refused: its status, and what its answer says."""

import json
from typing import Any, Dict, Optional, Union

from starlette.responses import Response

Number = Union[int, float]


class RequestError(Exception):
    """Ends a request with an error that its sender can mend.

    Args:
        status: The HTTP status.
        code: A name of the error for programs, such as `too_many_texts`.
        message: What is wrong, and what to do.
        limit: The limit that was exceeded, if any.
        got: What exceeded it.
        headers: Further headers of the answer.
    """

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        limit: Optional[Number] = None,
        got: Optional[Number] = None,
        headers: Optional[Dict[str, str]] = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.limit = limit
        self.got = got
        self.headers = headers

    def response(self) -> Response:
        """Returns the answer, a JSON object."""
        error: Dict[str, Any] = {"code": self.code, "message": self.message}
        if self.limit is not None:
            error.update(limit=self.limit, got=self.got)
        # ASCII, because a message may quote half a surrogate pair.
        content = json.dumps({"error": error}).encode()
        return Response(content, self.status, self.headers, "application/json")
