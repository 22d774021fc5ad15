"""A person asks, an agent answers, another way is tried in a fork, and all of it is followed and found again.

Run `threadkeep serve` in a folder, then this file in the same folder: it finds the server by itself.
"""

from threadkeep import Conflict, Threadkeep, types

with Threadkeep() as keep:
    thread = keep.threads.create(title="Tea")
    question = keep.threads.append_messages(thread.id, role="user", content="Which tea in the evening?")

    # The agent answers, but only if nobody wrote meanwhile.
    try:
        keep.threads.append_messages(
            thread.id, role="assistant", content="Rooibos: no caffeine.", expected_version=question.version
        )
    except Conflict as conflict:
        print("read again from version", conflict.current_version)

    # Another way, from the question on. The fork shares it.
    fork = keep.threads.fork(thread.id, message_id=question.id, title="Tea, again")
    keep.threads.append_messages(fork.id, messages=[types.NewMessage(role="assistant", content="Lemon balm.")])
    for message in keep.threads.list_messages(fork.id):
        print(message.role, message.content)

    keep.threads.files.write(fork.id, "/plan.md", "# Buy lemon balm\n")
    print(keep.threads.files.text(fork.id, "/plan.md"), end="")

    # Each entry once, in order, however often the connection breaks.
    for entry in keep.threads.follow(thread.id):
        print(entry.version, entry.kind)
        if entry.kind == "message_appended" and entry.data["role"] == "assistant":
            break
