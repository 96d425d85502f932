"""Checks of what the server answers to requests that are made from its API document."""
import schemathesis
from schemathesis.core.failures import Failure
from schemathesis.specs.openapi.checks import content_type_conformance, response_schema_conformance

# What failures look like in the document; a status of 500 and above that an operation describes by
# itself is an answer of its protocol.
FAILURE = "#/components/responses/Error"


@schemathesis.serializer("application/grpc")
def grpc(ctx, value):
    return value if isinstance(value, bytes) else str(value).encode()


@schemathesis.check
def no_failure(ctx, response, case):
    if response.status_code < 500:
        return
    answers = case.operation.definition.raw.get("responses", {})
    if answers.get(str(response.status_code), {"$ref": FAILURE}).get("$ref") == FAILURE:
        raise Failure(
            operation=case.operation.label,
            title=f"Server failure {response.status_code}",
            message=response.text[:500],
        )


@schemathesis.check
def body_as_documented(ctx, response, case):
    """Refusals may have no body, which OpenAPI can't say of an answer that may have one. Some sentences
    are sent as application/json, as the reference does; the document has text/plain for them."""
    if response.content and not sentence(response, case):
        content_type_conformance(ctx, response, case)
        response_schema_conformance(ctx, response, case)


def sentence(response, case):
    try:
        response.json()
    except ValueError:
        answers = case.operation.definition.raw.get("responses", {})
        answer = answers.get(str(response.status_code), {"$ref": FAILURE})
        return answer.get("$ref") == FAILURE or "text/plain" in answer.get("content", {})
    return False
