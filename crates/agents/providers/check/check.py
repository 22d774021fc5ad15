"""Checks the requests that the tests sent against the request types of the official SDKs.

Each line of a file is the JSON of one request. Fields that an SDK does not know are refused, too.
"""

import json
import pathlib
import sys
import typing
from collections.abc import Iterator

import anthropic.types.message_create_params as messages
import openai.types.chat.completion_create_params as completions
from pydantic import ConfigDict, TypeAdapter
from typing_extensions import is_typeddict


def forbid_unknown(package: str) -> None:
    """Makes every TypedDict of a package refuse fields that it does not name."""
    for name, module in list(sys.modules.items()):
        if name.startswith(package):
            for one in vars(module).values():
                if is_typeddict(one) and one.__module__.startswith(package):
                    one.__pydantic_config__ = ConfigDict(extra="forbid", arbitrary_types_allowed=True)


def walk(value: object) -> None:
    """Goes through a checked value: lists are checked as they are read."""
    if isinstance(value, dict):
        for one in value.values():
            walk(one)
    elif isinstance(value, (list, tuple)) or (isinstance(value, Iterator) and not isinstance(value, (str, bytes))):
        for one in value:
            walk(one)


def main() -> None:
    folder = pathlib.Path(sys.argv[1])
    checks: list[tuple[str, str, typing.Any]] = [
        ("openai", "openai.types", completions.CompletionCreateParamsStreaming),
        ("anthropic", "anthropic.types", messages.MessageCreateParamsStreaming),
    ]
    for protocol, package, params in checks:
        forbid_unknown(package)
        adapter = TypeAdapter(params)
        lines = (folder / f"requests-{protocol}.jsonl").read_text().splitlines()
        if not lines:
            sys.exit(f"no requests of {protocol} in {folder}: run the tests of threadkeep-runtime first")
        for number, line in enumerate(lines, 1):
            try:
                walk(adapter.validate_python(json.loads(line)))
            except ValueError as error:
                sys.exit(f"request {number} of {protocol} is refused by the types of its SDK:\n{error}\n{line[:4000]}")
        print(f"{len(lines)} requests of {protocol} have the types of its SDK.")


main()
