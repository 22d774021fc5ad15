# Printed from the table of calls. Do not edit: BLESS=1 cargo test -p threadkeep-print
"""The methods of calls, by room."""

from __future__ import annotations

from typing import TYPE_CHECKING, overload

from threadkeep.printed import facts
from threadkeep.record import OMIT

if TYPE_CHECKING:
    from typing import Any, List, Literal, Mapping, Sequence

    from threadkeep.printed.sync.way import Paged, Way
    from threadkeep.printed import types as t
    from threadkeep.record import Omit, Page


class ThreadsCalls:
    """The calls of `threads`."""

    __slots__ = ("_way",)

    def __init__(self, way: Way) -> None:
        self._way = way

    def create(
        self,
        *,
        title: str | None = None,
        archived: bool | None = None,
        draft: str | None = None,
        auto_submit_draft: bool | None = None,
        agent_mode: str | None = None,
        max_tokens: int | None = None,
        agent_id: str | None = None,
        task_id: str | None = None,
        project_id: str | None = None,
        user_id: str | None = None,
        intent: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        env: Mapping[str, Any] | None = None,
        visibility: t.Visibility | None = None,
        messages: Sequence[t.NewMessage] | None = None,
        idempotency_key: str | None = None,
        actor: str | None = None,
    ) -> t.Thread:
        """Makes a thread, with its first messages if there are any.

        Args:
            title: A title for people.
            archived: Whether the main list hides it.
            draft: The text of a message that is not sent yet.
            auto_submit_draft: Whether the draft is sent by itself.
            agent_mode: The mode the agent works in.
            max_tokens: The limit of output tokens.
            agent_id: The agent it belongs to.
            task_id: The task it belongs to.
            project_id: The project it belongs to.
            user_id: The user it belongs to.
            intent: The purpose of the thread.
            metadata: A free-form JSON object, replaced whole.
            env: The workspace it began in: `{"initial":{"trees":[…],"tags":[…]}}`.
            visibility: Who may read it: its account alone, or everyone.
            messages: The messages that the thread begins with.
        """
        answered: t.Thread = self._way.call(
            facts.CREATE_THREAD,
            {},
            {
                "title": title,
                "archived": archived,
                "draft": draft,
                "autoSubmitDraft": auto_submit_draft,
                "agentMode": agent_mode,
                "maxTokens": max_tokens,
                "agentId": agent_id,
                "taskId": task_id,
                "projectId": project_id,
                "userId": user_id,
                "intent": intent,
                "metadata": metadata,
                "env": env,
                "visibility": visibility,
                "messages": messages,
            },
            idempotency_key=idempotency_key,
            actor=actor,
        )
        return answered

    def list(
        self,
        *,
        id_prefix: str | None = None,
        archived: Literal["false", "true", "any"] | None = None,
        agent_id: str | None = None,
        project_id: str | None = None,
        lifecycle: t.Lifecycle | None = None,
        visibility: t.Visibility | None = None,
        metadata: str | None = None,
        tag: str | None = None,
        parent_id: t.ThreadName | None = None,
        main_thread_id: t.ThreadName | None = None,
        created_after: t.Timestamp | None = None,
        created_before: t.Timestamp | None = None,
        updated_after: t.Timestamp | None = None,
        updated_before: t.Timestamp | None = None,
        title: str | None = None,
        sort: Literal["updated", "created"] | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        total: bool | None = None,
        actor: str | None = None,
    ) -> Paged[t.ThreadSummary]:
        """Lists the account's threads, by any filter.

        Args:
            id_prefix: Threads whose id begins with this, in either spelling. Only `limit` may
                accompany it.
            archived: Whether archived threads are listed. Default: false.
            agent_id: Threads of this agent.
            project_id: Threads of this project.
            lifecycle: Threads in this state of their lifecycle.
            visibility: Private or public threads.
            metadata: Threads whose metadata contain this JSON object.
            tag: Threads with this tag, in `metadata.tags` or `env.initial.tags`.
            parent_id: Threads spawned from this thread.
            main_thread_id: Threads of the subagents of this thread.
            created_after: Threads created after this time.
            created_before: Threads created before this time.
            updated_after: Threads changed after this time.
            updated_before: Threads changed before this time.
            title: Threads whose title contains this text, without regard to case.
            sort: The newest first, by their last change or by their creation. Default: updated.
            limit: Number of items in a page.
            cursor: The cursor of the page before.
            offset: Number of threads to skip; the answer then has a total. It excludes a
                cursor.
            total: Whether to count all of them. Counting stops after 10,000 threads that have
                to be looked at, or 200,000 that an index counts; `totalIsExact` is false then.
        """
        return self._way.pages(
            facts.LIST_THREADS,
            {},
            {
                "idPrefix": id_prefix,
                "archived": archived,
                "agentId": agent_id,
                "projectId": project_id,
                "lifecycle": lifecycle,
                "visibility": visibility,
                "metadata": metadata,
                "tag": tag,
                "parentId": parent_id,
                "mainThreadId": main_thread_id,
                "createdAfter": created_after,
                "createdBefore": created_before,
                "updatedAfter": updated_after,
                "updatedBefore": updated_before,
                "title": title,
                "sort": sort,
                "limit": limit,
                "cursor": cursor,
                "offset": offset,
                "total": total,
            },
            actor=actor,
        )

    def get(
        self,
        thread: str,
        *,
        actor: str | None = None,
    ) -> t.Thread:
        """Shows a thread, without its messages."""
        answered: t.Thread = self._way.call(facts.GET_THREAD, {"thread": thread}, {}, actor=actor)
        return answered

    def update(
        self,
        thread: str,
        *,
        title: str | None | Omit = OMIT,
        archived: bool | None | Omit = OMIT,
        draft: str | None | Omit = OMIT,
        auto_submit_draft: bool | None | Omit = OMIT,
        agent_mode: str | None | Omit = OMIT,
        max_tokens: int | None | Omit = OMIT,
        agent_id: str | None | Omit = OMIT,
        task_id: str | None | Omit = OMIT,
        project_id: str | None | Omit = OMIT,
        user_id: str | None | Omit = OMIT,
        intent: str | None | Omit = OMIT,
        metadata: Mapping[str, Any] | None | Omit = OMIT,
        env: Mapping[str, Any] | None | Omit = OMIT,
        visibility: t.Visibility | None | Omit = OMIT,
        expected_version: int | None = None,
        writer: str | None = None,
        idempotency_key: str | None = None,
        actor: str | None = None,
    ) -> t.Thread:
        """Replaces fields of a thread; null clears one.

        Args:
            title: A title for people.
            archived: Whether the main list hides it.
            draft: The text of a message that is not sent yet.
            auto_submit_draft: Whether the draft is sent by itself.
            agent_mode: The mode the agent works in.
            max_tokens: The limit of output tokens.
            agent_id: The agent it belongs to.
            task_id: The task it belongs to.
            project_id: The project it belongs to.
            user_id: The user it belongs to.
            intent: The purpose of the thread.
            metadata: A free-form JSON object, replaced whole.
            env: The workspace it began in: `{"initial":{"trees":[…],"tags":[…]}}`.
            visibility: Who may read it: its account alone, or everyone.
        """
        answered: t.Thread = self._way.call(
            facts.UPDATE_THREAD,
            {"thread": thread},
            {
                "title": title,
                "archived": archived,
                "draft": draft,
                "autoSubmitDraft": auto_submit_draft,
                "agentMode": agent_mode,
                "maxTokens": max_tokens,
                "agentId": agent_id,
                "taskId": task_id,
                "projectId": project_id,
                "userId": user_id,
                "intent": intent,
                "metadata": metadata,
                "env": env,
                "visibility": visibility,
            },
            expected_version=expected_version,
            writer=writer,
            idempotency_key=idempotency_key,
            actor=actor,
        )
        return answered

    def delete(
        self,
        thread: str,
        *,
        expected_version: int | None = None,
        writer: str | None = None,
        actor: str | None = None,
    ) -> t.Deleted:
        """Deletes a thread and the threads of its subagents, for good; its id stays refused."""
        answered: t.Deleted = self._way.call(
            facts.DELETE_THREAD,
            {"thread": thread},
            {},
            expected_version=expected_version,
            writer=writer,
            actor=actor,
        )
        return answered

    def change_owner(
        self,
        thread: str,
        *,
        account: str,
        expected_version: int | None = None,
        writer: str | None = None,
        idempotency_key: str | None = None,
        actor: str | None = None,
    ) -> t.Thread:
        """Gives a thread to another account, with the threads of its subagents.

        Args:
            account: The account that owns it from now on.
        """
        answered: t.Thread = self._way.call(
            facts.CHANGE_OWNER,
            {"thread": thread},
            {"account": account},
            expected_version=expected_version,
            writer=writer,
            idempotency_key=idempotency_key,
            actor=actor,
        )
        return answered

    def list_messages(
        self,
        thread: str,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        around: t.MessageName | None = None,
        order: Literal["asc", "desc"] | None = None,
        role: t.Role | None = None,
        max_depth: int | None = None,
        include_silent: bool | None = None,
        as_of: t.Version | None = None,
        from_: t.ThreadName | None = None,
        total: bool | None = None,
        actor: str | None = None,
    ) -> Paged[t.Message]:
        """Lists the messages of a thread, now or as it was at a version.

        Args:
            limit: Number of items in a page.
            cursor: The cursor of the page before.
            offset: Number of messages to skip. It excludes a cursor.
            around: The page around this message, the oldest first. It excludes a cursor, an
                offset, a falling order and filters.
            order: The oldest first, or the newest. Default: asc.
            role: Messages of this role.
            max_depth: Messages at most this far below the conversation. Default: 0.
            include_silent: Whether silent messages are included.
            as_of: As the thread was at this version.
            from_: A thread of the reader, which mentions this one by reading it. It needs a key
                that may write.
            total: Whether to tell how many messages pass the filters. Default: true, unless a
                role is named without an offset.
        """
        return self._way.pages(
            facts.LIST_MESSAGES,
            {"thread": thread},
            {
                "limit": limit,
                "cursor": cursor,
                "offset": offset,
                "around": around,
                "order": order,
                "role": role,
                "maxDepth": max_depth,
                "includeSilent": include_silent,
                "asOf": as_of,
                "from": from_,
                "total": total,
            },
            actor=actor,
        )

    @overload
    def append_messages(
        self,
        thread: str,
        *,
        role: t.Role,
        content: t.Content,
        name: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        silent: bool | None = None,
        depth: int | None = None,
        parent_id: t.MessageId | None = None,
        status: t.MessageStatus | None = None,
        attachments: Sequence[t.Attachment] | None = None,
        position: t.Place | None = None,
        effects: Sequence[t.NewEffect] | None = None,
        expected_version: int | None = None,
        writer: str | None = None,
        idempotency_key: str | None = None,
        actor: str | None = None,
    ) -> t.Message: ...

    @overload
    def append_messages(
        self,
        thread: str,
        *,
        messages: Sequence[t.NewMessage],
        effects: Sequence[t.NewEffect] | None = None,
        expected_version: int | None = None,
        writer: str | None = None,
        idempotency_key: str | None = None,
        actor: str | None = None,
    ) -> t.AppendedMessages: ...

    def append_messages(
        self,
        thread: str,
        *,
        role: t.Role | None = None,
        name: str | None = None,
        content: t.Content | None = None,
        metadata: Mapping[str, Any] | None = None,
        silent: bool | None = None,
        depth: int | None = None,
        parent_id: t.MessageId | None = None,
        status: t.MessageStatus | None = None,
        attachments: Sequence[t.Attachment] | None = None,
        position: t.Place | None = None,
        effects: Sequence[t.NewEffect] | None = None,
        messages: Sequence[t.NewMessage] | None = None,
        expected_version: int | None = None,
        writer: str | None = None,
        idempotency_key: str | None = None,
        actor: str | None = None,
    ) -> t.Message | t.AppendedMessages:
        """Appends a message, or several in one commit. `position` inserts a single one before another,
        and `effects` are scheduled in the same commit.

        Args:
            role: The role of the message.
            name: The name of the speaker or the tool.
            content: The content: text or typed parts.
            metadata: A free-form JSON object.
            silent: Hidden from lists by default, still part of the conversation.
            depth: Its level below the conversation; 0 is the conversation itself.
            parent_id: The message above it.
            status: Whether it is complete.
            attachments: Files that belong to it.
            position: Where it is placed; at the end by default.
            effects: Effects to schedule in the same commit.
            messages: The messages, in order.
        """
        answered: t.Message | t.AppendedMessages = self._way.call(
            facts.APPEND_MESSAGES,
            {"thread": thread},
            {
                "role": role,
                "name": name,
                "content": content,
                "metadata": metadata,
                "silent": silent,
                "depth": depth,
                "parentId": parent_id,
                "status": status,
                "attachments": attachments,
                "position": position,
                "effects": effects,
                "messages": messages,
            },
            expected_version=expected_version,
            writer=writer,
            idempotency_key=idempotency_key,
            actor=actor,
        )
        return answered

    def get_message(
        self,
        thread: str,
        message: str,
        *,
        actor: str | None = None,
    ) -> t.Message:
        """Shows a message."""
        answered: t.Message = self._way.call(facts.GET_MESSAGE, {"thread": thread, "message": message}, {}, actor=actor)
        return answered

    @overload
    def edit_message(
        self,
        thread: str,
        message: str,
        *,
        content: t.Content,
        metadata: Mapping[str, Any] | None | Omit = OMIT,
        expected_version: int | None = None,
        writer: str | None = None,
        idempotency_key: str | None = None,
        actor: str | None = None,
    ) -> t.Message: ...

    @overload
    def edit_message(
        self,
        thread: str,
        message: str,
        *,
        metadata: Mapping[str, Any],
        expected_version: int | None = None,
        writer: str | None = None,
        idempotency_key: str | None = None,
        actor: str | None = None,
    ) -> t.Message: ...

    def edit_message(
        self,
        thread: str,
        message: str,
        *,
        content: t.Content | None = None,
        metadata: Mapping[str, Any] | None | Omit = OMIT,
        expected_version: int | None = None,
        writer: str | None = None,
        idempotency_key: str | None = None,
        actor: str | None = None,
    ) -> t.Message:
        """Gives a message new content, new metadata, or both.

        Args:
            content: The new content.
            metadata: Fields of the metadata to set; null clears one.
        """
        answered: t.Message = self._way.call(
            facts.EDIT_MESSAGE,
            {"thread": thread, "message": message},
            {"content": content, "metadata": metadata},
            expected_version=expected_version,
            writer=writer,
            idempotency_key=idempotency_key,
            actor=actor,
        )
        return answered

    def delete_message(
        self,
        thread: str,
        message: str,
        *,
        expected_version: int | None = None,
        writer: str | None = None,
        idempotency_key: str | None = None,
        actor: str | None = None,
    ) -> t.Deleted:
        """Removes a message from the conversation; the history keeps it."""
        answered: t.Deleted = self._way.call(
            facts.DELETE_MESSAGE,
            {"thread": thread, "message": message},
            {},
            expected_version=expected_version,
            writer=writer,
            idempotency_key=idempotency_key,
            actor=actor,
        )
        return answered

    def get_history(
        self,
        thread: str,
        *,
        after: t.Version | None = None,
        limit: int | None = None,
        actor: str | None = None,
    ) -> Page[t.HistoryEntry]:
        """Lists the entries of the log.

        Args:
            after: The entries after this version.
            limit: Number of items in a page.
        """
        answered: Page[t.HistoryEntry] = self._way.call(
            facts.GET_HISTORY,
            {"thread": thread},
            {"after": after, "limit": limit},
            actor=actor,
        )
        return answered

    @overload
    def truncate(
        self,
        thread: str,
        *,
        from_index: int,
        expected_version: int | None = None,
        writer: str | None = None,
        idempotency_key: str | None = None,
        actor: str | None = None,
    ) -> t.Thread: ...

    @overload
    def truncate(
        self,
        thread: str,
        *,
        from_message_id: t.MessageName,
        expected_version: int | None = None,
        writer: str | None = None,
        idempotency_key: str | None = None,
        actor: str | None = None,
    ) -> t.Thread: ...

    def truncate(
        self,
        thread: str,
        *,
        from_index: int | None = None,
        from_message_id: t.MessageName | None = None,
        expected_version: int | None = None,
        writer: str | None = None,
        idempotency_key: str | None = None,
        actor: str | None = None,
    ) -> t.Thread:
        """Drops all messages from an index or a message on; `rollback` with `undo` brings them back.

        Args:
            from_index: From this index on.
            from_message_id: From this message on.
        """
        answered: t.Thread = self._way.call(
            facts.TRUNCATE_THREAD,
            {"thread": thread},
            {"fromIndex": from_index, "fromMessageId": from_message_id},
            expected_version=expected_version,
            writer=writer,
            idempotency_key=idempotency_key,
            actor=actor,
        )
        return answered

    def get_model_messages(
        self,
        thread: str,
        *,
        as_of: t.Version | None = None,
        context_tokens: int | None = None,
        actor: str | None = None,
    ) -> List[t.ModelMessage]:
        """Shows the conversation as input for a model: the newest messages that fit, after a summary
        of those before them. Every tool call has one result.

        Args:
            as_of: As the thread was at this version.
            context_tokens: Tokens of the messages, at most. Default: those of the agent's model
                where the agent is defined, otherwise 100,000.
        """
        answered: List[t.ModelMessage] = self._way.call(
            facts.GET_MODEL_MESSAGES,
            {"thread": thread},
            {"asOf": as_of, "contextTokens": context_tokens},
            actor=actor,
        )
        return answered

    def list_events(
        self,
        thread: str,
        *,
        after: t.Version | None = None,
        limit: int | None = None,
        actor: str | None = None,
    ) -> Page[t.LoggedEvent]:
        """Lists messages and other events in the order of the log.

        Args:
            after: The events after this version.
            limit: Number of items in a page.
        """
        answered: Page[t.LoggedEvent] = self._way.call(
            facts.LIST_EVENTS,
            {"thread": thread},
            {"after": after, "limit": limit},
            actor=actor,
        )
        return answered

    def append_event(
        self,
        thread: str,
        event: t.NewEvent,
        *,
        expected_version: int | None = None,
        writer: str | None = None,
        idempotency_key: str | None = None,
        actor: str | None = None,
    ) -> t.Logged:
        """Logs an event: a message, a tool call, a fragment of an answer, or a result."""
        answered: t.Logged = self._way.call(
            facts.APPEND_EVENT,
            {"thread": thread},
            event,
            expected_version=expected_version,
            writer=writer,
            idempotency_key=idempotency_key,
            actor=actor,
        )
        return answered

    @overload
    def fork(
        self,
        thread: str,
        *,
        title: str | None = None,
        expected_version: int | None = None,
        writer: str | None = None,
        idempotency_key: str | None = None,
        actor: str | None = None,
    ) -> t.Thread: ...

    @overload
    def fork(
        self,
        thread: str,
        *,
        message_index: int,
        title: str | None = None,
        expected_version: int | None = None,
        writer: str | None = None,
        idempotency_key: str | None = None,
        actor: str | None = None,
    ) -> t.Thread: ...

    @overload
    def fork(
        self,
        thread: str,
        *,
        message_id: t.MessageName,
        title: str | None = None,
        expected_version: int | None = None,
        writer: str | None = None,
        idempotency_key: str | None = None,
        actor: str | None = None,
    ) -> t.Thread: ...

    @overload
    def fork(
        self,
        thread: str,
        *,
        version: t.Version,
        title: str | None = None,
        expected_version: int | None = None,
        writer: str | None = None,
        idempotency_key: str | None = None,
        actor: str | None = None,
    ) -> t.Thread: ...

    def fork(
        self,
        thread: str,
        *,
        title: str | None = None,
        message_index: int | None = None,
        message_id: t.MessageName | None = None,
        version: t.Version | None = None,
        expected_version: int | None = None,
        writer: str | None = None,
        idempotency_key: str | None = None,
        actor: str | None = None,
    ) -> t.Thread:
        """Forks a thread: the new one shares its history up to a point.

        Args:
            title: The title of the fork.
            message_index: After the message with this index.
            message_id: The last message that the fork shares.
            version: As the thread was at this version.
        """
        answered: t.Thread = self._way.call(
            facts.FORK_THREAD,
            {"thread": thread},
            {
                "title": title,
                "messageIndex": message_index,
                "messageId": message_id,
                "version": version,
            },
            expected_version=expected_version,
            writer=writer,
            idempotency_key=idempotency_key,
            actor=actor,
        )
        return answered

    def hand_off(
        self,
        thread: str,
        *,
        goal: str,
        summary: str | None = None,
        comment: str | None = None,
        agent_id: str | None = None,
        expected_version: int | None = None,
        writer: str | None = None,
        idempotency_key: str | None = None,
        actor: str | None = None,
    ) -> t.Thread:
        """Hands off to a new thread that begins with a summary of this one.

        Args:
            goal: The purpose of the new thread.
            summary: A summary for the new thread. Default: one by the model of the thread's
                agent where that is defined, else the built-in summary of the conversation so far.
            comment: A description of the relation; without it, the goal.
            agent_id: The agent of the new thread; without it, the same agent.
        """
        answered: t.Thread = self._way.call(
            facts.HAND_OFF,
            {"thread": thread},
            {
                "goal": goal,
                "summary": summary,
                "comment": comment,
                "agentId": agent_id,
            },
            expected_version=expected_version,
            writer=writer,
            idempotency_key=idempotency_key,
            actor=actor,
        )
        return answered

    def mention(
        self,
        thread: str,
        *,
        target: t.ThreadName,
        comment: str | None = None,
        expected_version: int | None = None,
        writer: str | None = None,
        idempotency_key: str | None = None,
        actor: str | None = None,
    ) -> t.Relationship:
        """Records that a thread mentions another one.

        Args:
            target: The thread that is mentioned.
            comment: A description of the relation.
        """
        answered: t.Relationship = self._way.call(
            facts.MENTION_THREAD,
            {"thread": thread},
            {"target": target, "comment": comment},
            expected_version=expected_version,
            writer=writer,
            idempotency_key=idempotency_key,
            actor=actor,
        )
        return answered

    @overload
    def roll_back(
        self,
        thread: str,
        *,
        checkpoint: str,
        expected_version: int | None = None,
        writer: str | None = None,
        idempotency_key: str | None = None,
        actor: str | None = None,
    ) -> t.Thread: ...

    @overload
    def roll_back(
        self,
        thread: str,
        *,
        step: t.StepName,
        expected_version: int | None = None,
        writer: str | None = None,
        idempotency_key: str | None = None,
        actor: str | None = None,
    ) -> t.Thread: ...

    @overload
    def roll_back(
        self,
        thread: str,
        *,
        timestamp: t.Timestamp,
        expected_version: int | None = None,
        writer: str | None = None,
        idempotency_key: str | None = None,
        actor: str | None = None,
    ) -> t.Thread: ...

    @overload
    def roll_back(
        self,
        thread: str,
        *,
        version: t.Version,
        expected_version: int | None = None,
        writer: str | None = None,
        idempotency_key: str | None = None,
        actor: str | None = None,
    ) -> t.Thread: ...

    @overload
    def roll_back(
        self,
        thread: str,
        *,
        artifact_version: t.ArtifactVersion,
        expected_version: int | None = None,
        writer: str | None = None,
        idempotency_key: str | None = None,
        actor: str | None = None,
    ) -> t.Thread: ...

    @overload
    def roll_back(
        self,
        thread: str,
        *,
        undo: Literal[True],
        expected_version: int | None = None,
        writer: str | None = None,
        idempotency_key: str | None = None,
        actor: str | None = None,
    ) -> t.Thread: ...

    def roll_back(
        self,
        thread: str,
        *,
        checkpoint: str | None = None,
        step: t.StepName | None = None,
        timestamp: t.Timestamp | None = None,
        version: t.Version | None = None,
        artifact_version: t.ArtifactVersion | None = None,
        undo: Literal[True] | None = None,
        expected_version: int | None = None,
        writer: str | None = None,
        idempotency_key: str | None = None,
        actor: str | None = None,
    ) -> t.Thread:
        """Rolls back to a checkpoint, a step, a time or a version, or one file only; or undoes the
        last rollback.

        Args:
            checkpoint: To the version with this name.
            step: To just after this message of the assistant, with the results of its calls:
                its id or its index.
            timestamp: To how it was at this time.
            version: The version to go back to.
            artifact_version: To what this file was at a version; everything else stays.
            undo: To before the last rollback or truncation.
        """
        answered: t.Thread = self._way.call(
            facts.ROLL_BACK,
            {"thread": thread},
            {
                "checkpoint": checkpoint,
                "step": step,
                "timestamp": timestamp,
                "version": version,
                "artifactVersion": artifact_version,
                "undo": undo,
            },
            expected_version=expected_version,
            writer=writer,
            idempotency_key=idempotency_key,
            actor=actor,
        )
        return answered

    def redo_rollback(
        self,
        thread: str,
        *,
        expected_version: int | None = None,
        writer: str | None = None,
        idempotency_key: str | None = None,
        actor: str | None = None,
    ) -> t.Thread:
        """Redoes what the last undo undid, if nothing else was written since."""
        answered: t.Thread = self._way.call(
            facts.REDO_ROLLBACK,
            {"thread": thread},
            {},
            expected_version=expected_version,
            writer=writer,
            idempotency_key=idempotency_key,
            actor=actor,
        )
        return answered

    def set_checkpoint(
        self,
        thread: str,
        *,
        name: str,
        expected_version: int | None = None,
        writer: str | None = None,
        idempotency_key: str | None = None,
        actor: str | None = None,
    ) -> t.Checkpoint:
        """Gives the present version a name.

        Args:
            name: The name: 1 to 255 bytes, not blank.
        """
        answered: t.Checkpoint = self._way.call(
            facts.SET_CHECKPOINT,
            {"thread": thread},
            {"name": name},
            expected_version=expected_version,
            writer=writer,
            idempotency_key=idempotency_key,
            actor=actor,
        )
        return answered

    def list_checkpoints(
        self,
        thread: str,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        actor: str | None = None,
    ) -> Paged[t.Checkpoint]:
        """Lists the checkpoints of a thread.

        Args:
            limit: Number of items in a page.
            cursor: The cursor of the page before.
        """
        return self._way.pages(
            facts.LIST_CHECKPOINTS,
            {"thread": thread},
            {"limit": limit, "cursor": cursor},
            actor=actor,
        )

    def get_family(
        self,
        thread: str,
        *,
        depth: int | None = None,
        breadth: int | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        actor: str | None = None,
    ) -> t.Family:
        """Shows a thread with all it is related to, directly or not, the nearest first.

        Args:
            depth: How many relations away from the thread a thread may be. Without it, any
                number.
            breadth: How many relatives of each thread are followed, the oldest relations first.
                Without it, all.
            limit: Number of threads in a page; 200 if not given.
            cursor: The cursor of the page before.
        """
        answered: t.Family = self._way.call(
            facts.GET_FAMILY,
            {"thread": thread},
            {"depth": depth, "breadth": breadth, "limit": limit, "cursor": cursor},
            actor=actor,
        )
        return answered

    def list_relationships(
        self,
        thread: str,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        actor: str | None = None,
    ) -> Paged[t.Relationship]:
        """Lists the relations of a thread.

        Args:
            limit: Number of items in a page.
            cursor: The cursor of the page before.
        """
        return self._way.pages(
            facts.LIST_RELATIONSHIPS,
            {"thread": thread},
            {"limit": limit, "cursor": cursor},
            actor=actor,
        )

    def get_summary(
        self,
        thread: str,
        *,
        actor: str | None = None,
    ) -> t.Summary:
        """Shows the built-in summary of a thread."""
        answered: t.Summary = self._way.call(facts.GET_SUMMARY, {"thread": thread}, {}, actor=actor)
        return answered

    def get_writer(
        self,
        thread: str,
        *,
        actor: str | None = None,
    ) -> t.Writer | None:
        """Shows who is the exclusive writer of a thread."""
        answered: t.Writer | None = self._way.call(facts.GET_WRITER, {"thread": thread}, {}, actor=actor)
        return answered

    def take_writer(
        self,
        thread: str,
        *,
        ttl: int | None = None,
        holder: str | None = None,
        actor: str | None = None,
    ) -> t.Writer:
        """Makes the caller the exclusive writer of a thread, for a time.

        Args:
            ttl: How long it lasts, in milliseconds.
            holder: Who holds it, in words for others.
        """
        answered: t.Writer = self._way.call(
            facts.TAKE_WRITER,
            {"thread": thread},
            {"ttl": ttl, "holder": holder},
            actor=actor,
        )
        return answered

    def renew_writer(
        self,
        thread: str,
        *,
        ttl: int | None = None,
        holder: str | None = None,
        writer: str | None = None,
        actor: str | None = None,
    ) -> t.Writer:
        """Renews a lease.

        Args:
            ttl: How long it lasts from now on, in milliseconds.
            holder: Who holds it; a renewal does not change that.
        """
        answered: t.Writer = self._way.call(
            facts.RENEW_WRITER,
            {"thread": thread},
            {"ttl": ttl, "holder": holder},
            writer=writer,
            actor=actor,
        )
        return answered

    def release_writer(
        self,
        thread: str,
        *,
        writer: str | None = None,
        actor: str | None = None,
    ) -> t.Released:
        """Releases a lease."""
        answered: t.Released = self._way.call(facts.RELEASE_WRITER, {"thread": thread}, {}, writer=writer, actor=actor)
        return answered

    def transfer(
        self,
        thread: str,
        *,
        direction: t.Direction,
        scope: Sequence[t.Capability],
        to: str | None = None,
        reason: str | None = None,
        timeout: str | None = None,
        fallback: t.Fallback | None = None,
        can_revoke: bool | None = None,
        expected_version: int | None = None,
        writer: str | None = None,
        idempotency_key: str | None = None,
        actor: str | None = None,
    ) -> t.Transferred:
        """Requests an approval, or delegates authority to agents.

        Args:
            direction: Whether it asks a human for authority, or gives authority to agents.
            scope: The capabilities it is about.
            to: For a delegation, the agent, by its name. Default: every agent.
            reason: The reason, for people to read.
            timeout: How long to wait for an answer, or how long a delegation holds: an ISO 8601
                duration such as `PT30S` or `P1D`.
            fallback: The outcome if the time runs out without an answer. Default: `block`.
            can_revoke: Whether it can be revoked later. Default: yes.
        """
        answered: t.Transferred = self._way.call(
            facts.TRANSFER,
            {"thread": thread},
            {
                "direction": direction,
                "scope": scope,
                "to": to,
                "reason": reason,
                "timeout": timeout,
                "fallback": fallback,
                "canRevoke": can_revoke,
            },
            expected_version=expected_version,
            writer=writer,
            idempotency_key=idempotency_key,
            actor=actor,
        )
        return answered

    def list_delegations(
        self,
        thread: str,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        actor: str | None = None,
    ) -> Paged[t.Delegation]:
        """Lists the delegations of a thread: what agents may do without asking.

        Args:
            limit: Number of items in a page.
            cursor: The cursor of the page before.
        """
        return self._way.pages(
            facts.LIST_DELEGATIONS,
            {"thread": thread},
            {"limit": limit, "cursor": cursor},
            actor=actor,
        )

    def merge(
        self,
        thread: str,
        *,
        sources: Sequence[t.ThreadName],
        artifact_scope: Sequence[str] | None = None,
        conflict_strategy: t.ConflictStrategy | None = None,
        choices: Sequence[t.Choice] | None = None,
        validation: t.Validation | None = None,
        requires_approval: bool | None = None,
        dry_run: bool | None = None,
        expected_version: int | None = None,
        writer: str | None = None,
        idempotency_key: str | None = None,
        actor: str | None = None,
    ) -> t.MergeTold:
        """Merges other threads into a thread, in one commit or not at all.

        Args:
            sources: The threads that are merged, in this order.
            artifact_scope: Which files, by patterns for their paths, and which values, by
                `kv:PREFIX`. Default: everything.
            conflict_strategy: The resolution of each kind of conflict.
            choices: Choices for single conflicts. Each names a path, a key or a question, and
                the side to take or the new content.
            validation: How the result is checked, by a command in the server's configuration.
            requires_approval: Whether it needs an approval before it happens.
            dry_run: Only show what would happen.
        """
        answered: t.MergeTold = self._way.call(
            facts.MERGE,
            {"thread": thread},
            {
                "sources": sources,
                "artifactScope": artifact_scope,
                "conflictStrategy": conflict_strategy,
                "choices": choices,
                "validation": validation,
                "requiresApproval": requires_approval,
                "dryRun": dry_run,
            },
            expected_version=expected_version,
            writer=writer,
            idempotency_key=idempotency_key,
            actor=actor,
        )
        return answered

    def list_merges(
        self,
        thread: str,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        actor: str | None = None,
    ) -> Paged[t.MergeTold]:
        """Lists the merges into a thread, including those that changed nothing.

        Args:
            limit: Number of items in a page.
            cursor: The cursor of the page before.
        """
        return self._way.pages(
            facts.LIST_MERGES,
            {"thread": thread},
            {"limit": limit, "cursor": cursor},
            actor=actor,
        )

    def get_merge(
        self,
        thread: str,
        merge: str,
        *,
        actor: str | None = None,
    ) -> t.MergeTold:
        """Shows a merge and its state."""
        answered: t.MergeTold = self._way.call(facts.GET_MERGE, {"thread": thread, "merge": merge}, {}, actor=actor)
        return answered

    def refer(
        self,
        thread: str,
        *,
        target: t.ThreadName,
        scope: Sequence[t.ReferenceScope] | None = None,
        binding: t.Binding | None = None,
        expected_version: int | None = None,
        writer: str | None = None,
        idempotency_key: str | None = None,
        actor: str | None = None,
    ) -> t.Reference:
        """Makes a reference to another thread: to read it as it is now, or to follow it.

        Args:
            target: The thread that is read.
            scope: The parts that are read: `all`, `messages`, `files`, `kv`, or patterns for
                paths of files. Default: all.
            binding: Whether it follows the target. Default: frozen.
        """
        answered: t.Reference = self._way.call(
            facts.REFER_THREAD,
            {"thread": thread},
            {"target": target, "scope": scope, "binding": binding},
            expected_version=expected_version,
            writer=writer,
            idempotency_key=idempotency_key,
            actor=actor,
        )
        return answered

    def list_references(
        self,
        thread: str,
        *,
        actor: str | None = None,
    ) -> t.References:
        """Lists the references of a thread, and the references to it."""
        answered: t.References = self._way.call(facts.LIST_REFERENCES, {"thread": thread}, {}, actor=actor)
        return answered

    def observe(
        self,
        thread: str,
        *,
        target: t.ThreadName,
        events: Sequence[t.ObservedEvent] | None = None,
        deliver: t.Deliver | None = None,
        expected_version: int | None = None,
        writer: str | None = None,
        idempotency_key: str | None = None,
        actor: str | None = None,
    ) -> t.Observer:
        """Observes another thread: its events go to this thread or to a webhook.

        Args:
            target: The thread that is observed. It belongs to the same account.
            events: Which events. Default: all of them.
            deliver: Where they go. Default: to the thread that observes.
        """
        answered: t.Observer = self._way.call(
            facts.OBSERVE_THREAD,
            {"thread": thread},
            {"target": target, "events": events, "deliver": deliver},
            expected_version=expected_version,
            writer=writer,
            idempotency_key=idempotency_key,
            actor=actor,
        )
        return answered

    def list_observers(
        self,
        thread: str,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        actor: str | None = None,
    ) -> Paged[t.Observer]:
        """Lists the threads that a thread observes.

        Args:
            limit: Number of items in a page.
            cursor: The cursor of the page before.
        """
        return self._way.pages(
            facts.LIST_OBSERVERS,
            {"thread": thread},
            {"limit": limit, "cursor": cursor},
            actor=actor,
        )

    def get_observer(
        self,
        thread: str,
        observer: str,
        *,
        actor: str | None = None,
    ) -> t.Observer:
        """Shows an observer: the thread it observes, and where its events go."""
        answered: t.Observer = self._way.call(
            facts.GET_OBSERVER,
            {"thread": thread, "observer": observer},
            {},
            actor=actor,
        )
        return answered

    def unobserve(
        self,
        thread: str,
        observer: str,
        *,
        expected_version: int | None = None,
        writer: str | None = None,
        idempotency_key: str | None = None,
        actor: str | None = None,
    ) -> t.Deleted:
        """Stops observing a thread."""
        answered: t.Deleted = self._way.call(
            facts.UNOBSERVE_THREAD,
            {"thread": thread, "observer": observer},
            {},
            expected_version=expected_version,
            writer=writer,
            idempotency_key=idempotency_key,
            actor=actor,
        )
        return answered

    def list_queue(
        self,
        thread: str,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        actor: str | None = None,
    ) -> Paged[t.Queued]:
        """Lists the queued messages.

        Args:
            limit: Number of items in a page.
            cursor: The cursor of the page before.
        """
        return self._way.pages(
            facts.LIST_QUEUE,
            {"thread": thread},
            {"limit": limit, "cursor": cursor},
            actor=actor,
        )

    def queue_message(
        self,
        thread: str,
        *,
        role: t.Role,
        content: t.Content,
        name: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        silent: bool | None = None,
        depth: int | None = None,
        parent_id: t.MessageId | None = None,
        status: t.MessageStatus | None = None,
        attachments: Sequence[t.Attachment] | None = None,
        expected_version: int | None = None,
        writer: str | None = None,
        idempotency_key: str | None = None,
        actor: str | None = None,
    ) -> t.Queued:
        """Queues a message; the next start or step of a run delivers it.

        Args:
            role: The role of the message.
            name: The name of the speaker or the tool.
            content: The content: text or typed parts.
            metadata: A free-form JSON object.
            silent: Hidden from lists by default, still part of the conversation.
            depth: Its level below the conversation; 0 is the conversation itself.
            parent_id: The message above it.
            status: Whether it is complete.
            attachments: Files that belong to it.
        """
        answered: t.Queued = self._way.call(
            facts.QUEUE_MESSAGE,
            {"thread": thread},
            {
                "role": role,
                "name": name,
                "content": content,
                "metadata": metadata,
                "silent": silent,
                "depth": depth,
                "parentId": parent_id,
                "status": status,
                "attachments": attachments,
            },
            expected_version=expected_version,
            writer=writer,
            idempotency_key=idempotency_key,
            actor=actor,
        )
        return answered

    @overload
    def edit_queued(
        self,
        thread: str,
        item: str,
        *,
        content: t.Content,
        metadata: Mapping[str, Any] | None | Omit = OMIT,
        expected_version: int | None = None,
        writer: str | None = None,
        idempotency_key: str | None = None,
        actor: str | None = None,
    ) -> t.Queued: ...

    @overload
    def edit_queued(
        self,
        thread: str,
        item: str,
        *,
        metadata: Mapping[str, Any],
        expected_version: int | None = None,
        writer: str | None = None,
        idempotency_key: str | None = None,
        actor: str | None = None,
    ) -> t.Queued: ...

    def edit_queued(
        self,
        thread: str,
        item: str,
        *,
        content: t.Content | None = None,
        metadata: Mapping[str, Any] | None | Omit = OMIT,
        expected_version: int | None = None,
        writer: str | None = None,
        idempotency_key: str | None = None,
        actor: str | None = None,
    ) -> t.Queued:
        """Edits a queued message.

        Args:
            content: The new content.
            metadata: Fields of the metadata to set; null clears one.
        """
        answered: t.Queued = self._way.call(
            facts.EDIT_QUEUED,
            {"thread": thread, "item": item},
            {"content": content, "metadata": metadata},
            expected_version=expected_version,
            writer=writer,
            idempotency_key=idempotency_key,
            actor=actor,
        )
        return answered

    def remove_queued(
        self,
        thread: str,
        item: str,
        *,
        expected_version: int | None = None,
        writer: str | None = None,
        idempotency_key: str | None = None,
        actor: str | None = None,
    ) -> t.Deleted:
        """Removes a message from the queue."""
        answered: t.Deleted = self._way.call(
            facts.REMOVE_QUEUED,
            {"thread": thread, "item": item},
            {},
            expected_version=expected_version,
            writer=writer,
            idempotency_key=idempotency_key,
            actor=actor,
        )
        return answered

    def queue_tool(
        self,
        thread: str,
        tool: str,
        *,
        args: Mapping[str, Any] | None = None,
        expected_version: int | None = None,
        writer: str | None = None,
        idempotency_key: str | None = None,
        actor: str | None = None,
    ) -> t.QueuedTool:
        """Queues a tool for the run of a thread; it is carried out with the authority of the caller.

        Args:
            args: Its arguments: a JSON object. Default: none.
        """
        answered: t.QueuedTool = self._way.call(
            facts.QUEUE_TOOL,
            {"thread": thread, "tool": tool},
            {"args": args},
            expected_version=expected_version,
            writer=writer,
            idempotency_key=idempotency_key,
            actor=actor,
        )
        return answered

    def list_queued_tools(
        self,
        thread: str,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        actor: str | None = None,
    ) -> Paged[t.QueuedTool]:
        """Lists the tools that wait for a run, in the order in which they will be carried out.

        Args:
            limit: Number of items in a page.
            cursor: The cursor of the page before.
        """
        return self._way.pages(
            facts.LIST_QUEUED_TOOLS,
            {"thread": thread},
            {"limit": limit, "cursor": cursor},
            actor=actor,
        )

    def get_context(
        self,
        thread: str,
        *,
        as_of: t.Version | None = None,
        run_id: t.Uuid | None = None,
        actor: str | None = None,
    ) -> t.Context:
        """Shows what a model is given of a thread: messages, what was cut, summary, memories, and
        tokens of each part.

        Args:
            as_of: As the thread was at this version.
            run_id: What the last step of this run gave to its model.
        """
        answered: t.Context = self._way.call(
            facts.GET_CONTEXT,
            {"thread": thread},
            {"asOf": as_of, "runId": run_id},
            actor=actor,
        )
        return answered

    def terminate(
        self,
        thread: str,
        *,
        expected_version: int | None = None,
        writer: str | None = None,
        idempotency_key: str | None = None,
        actor: str | None = None,
    ) -> t.Thread:
        """Ends the work on a thread for good: ends its run, empties its queue, and allows no new ones."""
        answered: t.Thread = self._way.call(
            facts.TERMINATE_THREAD,
            {"thread": thread},
            {},
            expected_version=expected_version,
            writer=writer,
            idempotency_key=idempotency_key,
            actor=actor,
        )
        return answered

    def archive(
        self,
        thread: str,
        *,
        expected_version: int | None = None,
        writer: str | None = None,
        idempotency_key: str | None = None,
        actor: str | None = None,
    ) -> t.Thread:
        """Hides a thread from the main list."""
        answered: t.Thread = self._way.call(
            facts.ARCHIVE_THREAD,
            {"thread": thread},
            {},
            expected_version=expected_version,
            writer=writer,
            idempotency_key=idempotency_key,
            actor=actor,
        )
        return answered

    def unarchive(
        self,
        thread: str,
        *,
        expected_version: int | None = None,
        writer: str | None = None,
        idempotency_key: str | None = None,
        actor: str | None = None,
    ) -> t.Thread:
        """Shows a thread in the main list again."""
        answered: t.Thread = self._way.call(
            facts.UNARCHIVE_THREAD,
            {"thread": thread},
            {},
            expected_version=expected_version,
            writer=writer,
            idempotency_key=idempotency_key,
            actor=actor,
        )
        return answered

    def assign(
        self,
        thread: str,
        *,
        agent_id: str,
        expected_version: int | None = None,
        writer: str | None = None,
        idempotency_key: str | None = None,
        actor: str | None = None,
    ) -> t.Thread:
        """Hands a thread to another agent.

        Args:
            agent_id: The name of the agent.
        """
        answered: t.Thread = self._way.call(
            facts.ASSIGN_THREAD,
            {"thread": thread},
            {"agentId": agent_id},
            expected_version=expected_version,
            writer=writer,
            idempotency_key=idempotency_key,
            actor=actor,
        )
        return answered

    def activate_skill(
        self,
        thread: str,
        *,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        expected_version: int | None = None,
        writer: str | None = None,
        idempotency_key: str | None = None,
        actor: str | None = None,
    ) -> t.Thread:
        """Activates a skill.

        Args:
            name: The name of the skill.
            arguments: The arguments of its activation, a JSON object.
        """
        answered: t.Thread = self._way.call(
            facts.ACTIVATE_SKILL,
            {"thread": thread},
            {"name": name, "arguments": arguments},
            expected_version=expected_version,
            writer=writer,
            idempotency_key=idempotency_key,
            actor=actor,
        )
        return answered

    def schedule_effect(
        self,
        thread: str,
        *,
        name: t.EffectName,
        args: Mapping[str, Any] | None = None,
        delay: int | None = None,
        expected_version: int | None = None,
        writer: str | None = None,
        idempotency_key: str | None = None,
        actor: str | None = None,
    ) -> t.Effect:
        """Schedules an effect: a handler that runs later, by its name, once the delay has passed.

        Args:
            name: The name of the effect: that of its handler.
            args: The arguments for the handler: an object of at most 256 KiB.
            delay: How long it waits, in milliseconds. Default: 0.
        """
        answered: t.Effect = self._way.call(
            facts.SCHEDULE_EFFECT,
            {"thread": thread},
            {"name": name, "args": args, "delay": delay},
            expected_version=expected_version,
            writer=writer,
            idempotency_key=idempotency_key,
            actor=actor,
        )
        return answered

    def list_effects(
        self,
        thread: str,
        *,
        name: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        actor: str | None = None,
    ) -> Paged[t.Effect]:
        """Lists the effects of a thread that wait or run, in the order in which they were scheduled.

        Args:
            name: Only effects of this name.
            limit: Number of items in a page.
            cursor: The cursor of the page before.
        """
        return self._way.pages(
            facts.LIST_EFFECTS,
            {"thread": thread},
            {"name": name, "limit": limit, "cursor": cursor},
            actor=actor,
        )

    def remove_effect(
        self,
        thread: str,
        effect: str,
        *,
        expected_version: int | None = None,
        writer: str | None = None,
        idempotency_key: str | None = None,
        actor: str | None = None,
    ) -> t.Deleted:
        """Cancels an effect that waits. One that runs or has ended is left alone."""
        answered: t.Deleted = self._way.call(
            facts.REMOVE_EFFECT,
            {"thread": thread, "effect": effect},
            {},
            expected_version=expected_version,
            writer=writer,
            idempotency_key=idempotency_key,
            actor=actor,
        )
        return answered

    def emit_event(
        self,
        thread: str,
        *,
        event: str,
        data: t.Json,
        actor: str | None = None,
    ) -> t.EmitTold:
        """Sends an event to the followers of a thread. It is not logged.

        Args:
            event: The name of the event.
            data: The data of the event: any JSON.
        """
        answered: t.EmitTold = self._way.call(
            facts.EMIT_EVENT,
            {"thread": thread},
            {"event": event, "data": data},
            actor=actor,
        )
        return answered

    def list_subagents(
        self,
        thread: str,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        actor: str | None = None,
    ) -> Paged[t.Child]:
        """Lists the subagents of a thread.

        Args:
            limit: Number of items in a page.
            cursor: The cursor of the page before.
        """
        return self._way.pages(
            facts.LIST_SUBAGENTS,
            {"thread": thread},
            {"limit": limit, "cursor": cursor},
            actor=actor,
        )

    def create_subagent(
        self,
        thread: str,
        *,
        name: str,
        title: str | None = None,
        description: str | None = None,
        agent_id: str | None = None,
        resumable: bool | None = None,
        blocking: bool | None = None,
        thread_name: str | None = None,
        spawn_group_id: str | None = None,
        parent_communication: t.ParentCommunication | None = None,
        status: str | None = None,
        messages: Sequence[t.NewMessage] | None = None,
        attachments: Sequence[t.FilePath] | None = None,
        expected_version: int | None = None,
        writer: str | None = None,
        idempotency_key: str | None = None,
        actor: str | None = None,
    ) -> t.SubagentThread:
        """Makes a thread for a subagent.

        Args:
            name: The name of the subagent.
            title: A title for people.
            description: The task of the subagent.
            agent_id: The agent that works on it.
            resumable: Whether it stays after its work, and can be spoken to again.
            blocking: Whether its parent waits for it.
            thread_name: A name for the thread.
            spawn_group_id: Shared by the subagents that one message started.
            parent_communication: Whether it reports to its parent by itself.
            status: The first status of the subagent. Default: `created`.
            messages: The messages it begins with.
            attachments: Paths of files of this thread. The new one gets them with the last of
                its messages, as `/attachments/NAME`.
        """
        answered: t.SubagentThread = self._way.call(
            facts.CREATE_SUBAGENT,
            {"thread": thread},
            {
                "name": name,
                "title": title,
                "description": description,
                "agentId": agent_id,
                "resumable": resumable,
                "blocking": blocking,
                "threadName": thread_name,
                "spawnGroupId": spawn_group_id,
                "parentCommunication": parent_communication,
                "status": status,
                "messages": messages,
                "attachments": attachments,
            },
            expected_version=expected_version,
            writer=writer,
            idempotency_key=idempotency_key,
            actor=actor,
        )
        return answered

    def get_parent(
        self,
        thread: str,
        *,
        actor: str | None = None,
    ) -> t.Thread | None:
        """Shows the thread that a subagent works for."""
        answered: t.Thread | None = self._way.call(facts.GET_PARENT, {"thread": thread}, {}, actor=actor)
        return answered

    def notify_parent(
        self,
        thread: str,
        *,
        content: str,
        attachments: Sequence[t.FilePath] | None = None,
        expected_version: int | None = None,
        writer: str | None = None,
        idempotency_key: str | None = None,
        actor: str | None = None,
    ) -> t.Notified:
        """Puts a message in the queue of the thread that a subagent works for.

        Args:
            content: The text of the message.
            attachments: Paths of files of this thread. The parent gets them with the message,
                as `/attachments/NAME`.
        """
        answered: t.Notified = self._way.call(
            facts.NOTIFY_PARENT,
            {"thread": thread},
            {"content": content, "attachments": attachments},
            expected_version=expected_version,
            writer=writer,
            idempotency_key=idempotency_key,
            actor=actor,
        )
        return answered

    def set_status(
        self,
        thread: str,
        *,
        status: str,
        expected_version: int | None = None,
        writer: str | None = None,
        idempotency_key: str | None = None,
        actor: str | None = None,
    ) -> t.StatusSet:
        """Sets the status of a subagent, in free words.

        Args:
            status: The status, in free words.
        """
        answered: t.StatusSet = self._way.call(
            facts.SET_STATUS,
            {"thread": thread},
            {"status": status},
            expected_version=expected_version,
            writer=writer,
            idempotency_key=idempotency_key,
            actor=actor,
        )
        return answered

    def invoke_tool(
        self,
        thread: str,
        tool: str,
        *,
        args: Mapping[str, Any] | None = None,
        actor: str | None = None,
    ) -> t.ToolTold:
        """Runs a tool on a thread at once, with the authority of the caller, and logs its call and its
        result.

        Args:
            args: Its arguments. Default: none.
        """
        answered: t.ToolTold = self._way.call(
            facts.INVOKE_TOOL,
            {"thread": thread, "tool": tool},
            {"args": args},
            actor=actor,
        )
        return answered

    def start_run(
        self,
        thread: str,
        *,
        message: t.NewMessage | None = None,
        agent_id: str | None = None,
        executor: t.Executor | None = None,
        ttl: int | None = None,
        take_over: bool | None = None,
        resume: bool | None = None,
        context_tokens: int | None = None,
        expected_version: int | None = None,
        writer: str | None = None,
        idempotency_key: str | None = None,
        actor: str | None = None,
    ) -> t.Progressed:
        """Starts a run: an agent works on the thread from now on.

        Args:
            message: A message to append, after what was queued.
            agent_id: The agent to assign the thread to. Default: its agent; for the runtime,
                `default` if it has none.
            executor: The program that works: the runtime of a server on which the agent is
                defined, or the caller. Default: runtime. Where no server defines the agent, such a
                run stays queued.
            ttl: Longest time between two steps of a caller, in milliseconds. Default: ten
                minutes.
            take_over: Ends a run that is still open, or resumes it before its time is over.
            resume: Goes on with the open run as its next attempt. Its open tool calls stay
                open.
            context_tokens: Tokens of the conversation that a caller is given, at most. Default:
                those of the agent's model where the agent is defined, otherwise 100,000.
        """
        answered: t.Progressed = self._way.call(
            facts.START_RUN,
            {"thread": thread},
            {
                "message": message,
                "agentId": agent_id,
                "executor": executor,
                "ttl": ttl,
                "takeOver": take_over,
                "resume": resume,
                "contextTokens": context_tokens,
            },
            expected_version=expected_version,
            writer=writer,
            idempotency_key=idempotency_key,
            actor=actor,
        )
        return answered

    def list_thread_runs(
        self,
        thread: str,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        actor: str | None = None,
    ) -> Paged[t.Run]:
        """Lists the runs of a thread, the newest first.

        Args:
            limit: Number of items in a page.
            cursor: The cursor of the page before.
        """
        return self._way.pages(
            facts.LIST_THREAD_RUNS,
            {"thread": thread},
            {"limit": limit, "cursor": cursor},
            actor=actor,
        )

    def get_execution(
        self,
        thread: str,
        *,
        actor: str | None = None,
    ) -> t.ExecutionState | None:
        """Shows the open run of a thread: its side, its steps and its prompt."""
        answered: t.ExecutionState | None = self._way.call(facts.GET_EXECUTION, {"thread": thread}, {}, actor=actor)
        return answered

    def spawn(
        self,
        thread: str,
        *,
        intent: str,
        inherit: t.Inherit,
        inherit_scope: Sequence[str] | None = None,
        agent_id: str | None = None,
        expected_version: int | None = None,
        writer: str | None = None,
        idempotency_key: str | None = None,
        actor: str | None = None,
    ) -> t.Spawned:
        """Makes a thread for a task of its own, which inherits all, some or nothing from this one.

        Args:
            intent: The purpose of the new thread.
            inherit: How much of the parent it inherits.
            inherit_scope: The inherited parts: `messages`, `messages:last=N`, `files:GLOB`,
                `kv:PREFIX`, `env`, `skills`.
            agent_id: The agent of the new thread; without it, the same agent.
        """
        answered: t.Spawned = self._way.call(
            facts.SPAWN_THREAD,
            {"thread": thread},
            {
                "intent": intent,
                "inherit": inherit,
                "inheritScope": inherit_scope,
                "agentId": agent_id,
            },
            expected_version=expected_version,
            writer=writer,
            idempotency_key=idempotency_key,
            actor=actor,
        )
        return answered

    def change_lifecycle(
        self,
        thread: str,
        *,
        action: t.LifecycleAction,
        reason: str | None = None,
        expected_version: int | None = None,
        writer: str | None = None,
        idempotency_key: str | None = None,
        actor: str | None = None,
    ) -> t.Thread:
        """Changes the lifecycle of a thread: done, cancel, suspend, resume, or archive, which is
        final.

        Args:
            action: The move to make.
            reason: Why, in words for people.
        """
        answered: t.Thread = self._way.call(
            facts.CHANGE_LIFECYCLE,
            {"thread": thread},
            {"action": action, "reason": reason},
            expected_version=expected_version,
            writer=writer,
            idempotency_key=idempotency_key,
            actor=actor,
        )
        return answered

    def inject(
        self,
        thread: str,
        *,
        type: t.InjectionType,
        content: t.Json,
        urgency: t.Urgency | None = None,
        expected_version: int | None = None,
        writer: str | None = None,
        idempotency_key: str | None = None,
        actor: str | None = None,
    ) -> t.Injected:
        """Injects context into a thread; the next start or step of a run delivers it.

        Args:
            type: The type of the injection.
            content: The content: any JSON.
            urgency: How soon it is delivered.
        """
        answered: t.Injected = self._way.call(
            facts.INJECT,
            {"thread": thread},
            {"type": type, "content": content, "urgency": urgency},
            expected_version=expected_version,
            writer=writer,
            idempotency_key=idempotency_key,
            actor=actor,
        )
        return answered

    def list_injections(
        self,
        thread: str,
        *,
        state: t.InjectionState | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        actor: str | None = None,
    ) -> Paged[t.Injection]:
        """Lists injections: waiting, delivered, or all.

        Args:
            state: Injections that wait, that were taken up, or all. Default: waiting.
            limit: Number of items in a page.
            cursor: The cursor of the page before.
        """
        return self._way.pages(
            facts.LIST_INJECTIONS,
            {"thread": thread},
            {"state": state, "limit": limit, "cursor": cursor},
            actor=actor,
        )

    def acknowledge_injection(
        self,
        thread: str,
        injection: str,
        *,
        expected_version: int | None = None,
        writer: str | None = None,
        idempotency_key: str | None = None,
        actor: str | None = None,
    ) -> t.Injection:
        """Acknowledges an injection by hand. Repeating it changes nothing."""
        answered: t.Injection = self._way.call(
            facts.ACKNOWLEDGE_INJECTION,
            {"thread": thread, "injection": injection},
            {},
            expected_version=expected_version,
            writer=writer,
            idempotency_key=idempotency_key,
            actor=actor,
        )
        return answered

    def decide(
        self,
        thread: str,
        *,
        question: str,
        answer: str,
        reason: str | None = None,
        expected_version: int | None = None,
        writer: str | None = None,
        idempotency_key: str | None = None,
        actor: str | None = None,
    ) -> t.Decision:
        """Records the answer to a question; the newest one counts.

        Args:
            question: The question. Questions are compared without case and extra spaces.
            answer: The answer, which counts from now on.
            reason: Why, in words for people.
        """
        answered: t.Decision = self._way.call(
            facts.DECIDE,
            {"thread": thread},
            {"question": question, "answer": answer, "reason": reason},
            expected_version=expected_version,
            writer=writer,
            idempotency_key=idempotency_key,
            actor=actor,
        )
        return answered

    def list_decisions(
        self,
        thread: str,
        *,
        as_of: t.Version | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        actor: str | None = None,
    ) -> Paged[t.Decision]:
        """Lists the decisions that count on a thread.

        Args:
            as_of: As the thread was at this version.
            limit: Number of items in a page.
            cursor: The cursor of the page before.
        """
        return self._way.pages(
            facts.LIST_DECISIONS,
            {"thread": thread},
            {"asOf": as_of, "limit": limit, "cursor": cursor},
            actor=actor,
        )

    def list_values(
        self,
        thread: str,
        *,
        prefix: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        as_of: t.Version | None = None,
        actor: str | None = None,
    ) -> Paged[t.Value]:
        """Lists values, in the order of their keys.

        Args:
            prefix: Values whose keys begin with this.
            limit: Number of items in a page.
            cursor: The cursor of the page before.
            as_of: As the thread was at this version.
        """
        return self._way.pages(
            facts.LIST_VALUES,
            {"thread": thread},
            {"prefix": prefix, "limit": limit, "cursor": cursor, "asOf": as_of},
            actor=actor,
        )

    def get_value(
        self,
        thread: str,
        value_key: str,
        *,
        as_of: t.Version | None = None,
        actor: str | None = None,
    ) -> t.Value:
        """Shows the value under a key. A missing key has the value null and version 0.

        Args:
            as_of: As the thread was at this version.
        """
        answered: t.Value = self._way.call(
            facts.GET_VALUE,
            {"thread": thread, "valueKey": value_key},
            {"asOf": as_of},
            actor=actor,
        )
        return answered

    def set_value(
        self,
        thread: str,
        value_key: str,
        value: t.Json,
        *,
        expected_version: int | None = None,
        if_absent: bool = False,
        writer: str | None = None,
        idempotency_key: str | None = None,
        actor: str | None = None,
    ) -> t.Value:
        """Sets the value under a key to any JSON; null deletes it."""
        answered: t.Value = self._way.call(
            facts.SET_VALUE,
            {"thread": thread, "valueKey": value_key},
            value,
            expected_version=expected_version,
            if_absent=if_absent,
            writer=writer,
            idempotency_key=idempotency_key,
            actor=actor,
        )
        return answered

    def delete_value(
        self,
        thread: str,
        value_key: str,
        *,
        expected_version: int | None = None,
        if_absent: bool = False,
        writer: str | None = None,
        idempotency_key: str | None = None,
        actor: str | None = None,
    ) -> t.Deleted:
        """Deletes the value under a key."""
        answered: t.Deleted = self._way.call(
            facts.DELETE_VALUE,
            {"thread": thread, "valueKey": value_key},
            {},
            expected_version=expected_version,
            if_absent=if_absent,
            writer=writer,
            idempotency_key=idempotency_key,
            actor=actor,
        )
        return answered

    def list_env(
        self,
        thread: str,
        *,
        actor: str | None = None,
    ) -> Page[t.EnvVariable]:
        """Lists the variables that a thread sees, by name: its own, those of the threads it works for,
        its account's and the instance's. Values of secrets are left out.
        """
        answered: Page[t.EnvVariable] = self._way.call(facts.LIST_ENV, {"thread": thread}, {}, actor=actor)
        return answered

    def get_env(
        self,
        thread: str,
        name: str,
        *,
        actor: str | None = None,
    ) -> t.EnvVariable:
        """Reads a variable as a thread sees it, with its value, also if it is a secret. Variables of
        the instance are not read.
        """
        answered: t.EnvVariable = self._way.call(facts.GET_ENV, {"thread": thread, "name": name}, {}, actor=actor)
        return answered

    def set_env(
        self,
        thread: str,
        name: str,
        *,
        value: str,
        type: t.EnvType | None = None,
        expected_version: int | None = None,
        writer: str | None = None,
        actor: str | None = None,
    ) -> t.EnvVariable:
        """Sets a variable of a thread. The threads that work for it see it too, unless they have one
        of the same name. The log holds its name and type; the value is sealed.

        Args:
            value: The value: text, at most 16 KiB. An empty text is a value.
            type: Whether the value may be shown. Without it the type stays; new variables are
                secrets.
        """
        answered: t.EnvVariable = self._way.call(
            facts.SET_ENV,
            {"thread": thread, "name": name},
            {"value": value, "type": type},
            expected_version=expected_version,
            writer=writer,
            actor=actor,
        )
        return answered

    def delete_env(
        self,
        thread: str,
        name: str,
        *,
        expected_version: int | None = None,
        writer: str | None = None,
        idempotency_key: str | None = None,
        actor: str | None = None,
    ) -> t.Deleted:
        """Removes a variable of a thread. Its value is deleted."""
        answered: t.Deleted = self._way.call(
            facts.DELETE_ENV,
            {"thread": thread, "name": name},
            {},
            expected_version=expected_version,
            writer=writer,
            idempotency_key=idempotency_key,
            actor=actor,
        )
        return answered

    def get_variables(
        self,
        thread: str,
        request: str,
        *,
        actor: str | None = None,
    ) -> t.RequiredVariables:
        """Shows the variables that a subagent of a thread requires before it starts, and those that it
        lacks.
        """
        answered: t.RequiredVariables = self._way.call(
            facts.GET_VARIABLES,
            {"thread": thread, "request": request},
            {},
            actor=actor,
        )
        return answered

    def supply_variables(
        self,
        thread: str,
        request: str,
        *,
        env: Mapping[str, str],
        expected_version: int | None = None,
        writer: str | None = None,
        actor: str | None = None,
    ) -> t.RequiredVariables:
        """Sets variables that a subagent waits for. It starts once it lacks none. The values are
        sealed.

        Args:
            env: The values by the names of the variables, each at most 16 KiB. They are set
                together, on the subagent's thread.
        """
        answered: t.RequiredVariables = self._way.call(
            facts.SUPPLY_VARIABLES,
            {"thread": thread, "request": request},
            {"env": env},
            expected_version=expected_version,
            writer=writer,
            actor=actor,
        )
        return answered

    def run_code(
        self,
        thread: str,
        *,
        source: str,
        id: str | None = None,
        language: Literal["typescript", "javascript"] | None = None,
        execute: t.ExecuteCode | None = None,
        modules: Mapping[str, str] | None = None,
        globals: Mapping[str, Any] | None = None,
        imports: Mapping[str, Mapping[str, Any]] | None = None,
        filename: str | None = None,
        grants: Sequence[str] | None = None,
        memory_limit_bytes: int | None = None,
        timeout_ms: int | None = None,
        stream: bool | None = None,
        actor: str | None = None,
    ) -> t.CodeOutcome:
        """Runs JavaScript or TypeScript in a process that reaches nothing but the calls it is granted.
        Agents need the authority `execute_command`.

        Args:
            id: A name for the run, by which it can be terminated. An account uses it for one
                run of a thread at a time.
            source: The source of the module.
            language: The language of the source.
            execute: The exported function to call. Without it the default export is called, or
                is the result if it is no function.
            modules: Sources of other modules, by relative specifiers such as `./util.ts`.
            globals: Global variables.
            imports: Modules of values: bare specifiers, each with its exports.
            filename: The name of the module in errors. Default: `main.ts`, or `main.js` for
                JavaScript.
            grants: Calls that the code may make by `import { NAME } from "threadkeep"`: names
                such as `append`, names of operations such as `listMessages`, or `read` and `write`
                for all calls about the thread. Default: none.
            memory_limit_bytes: Memory of the code in bytes. Default: 64 MiB.
            timeout_ms: Time until the run is killed, in milliseconds. Default: 30,000.
            stream: Answers with a stream of events: `log`, `report`, and `outcome` as the last
                one.
        """
        answered: t.CodeOutcome = self._way.call(
            facts.RUN_CODE,
            {"thread": thread},
            {
                "id": id,
                "source": source,
                "language": language,
                "execute": execute,
                "modules": modules,
                "globals": globals,
                "imports": imports,
                "filename": filename,
                "grants": grants,
                "memoryLimitBytes": memory_limit_bytes,
                "timeoutMs": timeout_ms,
                "stream": stream,
            },
            actor=actor,
        )
        return answered

    def terminate_code(
        self,
        thread: str,
        code_run: str,
        *,
        actor: str | None = None,
    ) -> t.CodeTerminated:
        """Ends a run of code that was started with this id."""
        answered: t.CodeTerminated = self._way.call(
            facts.TERMINATE_CODE,
            {"thread": thread, "codeRun": code_run},
            {},
            actor=actor,
        )
        return answered


class ApprovalsCalls:
    """The calls of `approvals`."""

    __slots__ = ("_way",)

    def __init__(self, way: Way) -> None:
        self._way = way

    def list(
        self,
        *,
        state: t.ListedState | None = None,
        thread_id: t.ThreadName | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        actor: str | None = None,
    ) -> Paged[t.Approval]:
        """Lists approvals of all threads, oldest first. Default: pending ones.

        Args:
            state: Approvals in this state. Default: pending.
            thread_id: Approvals of this thread.
            limit: Number of items in a page.
            cursor: The cursor of the page before.
        """
        return self._way.pages(
            facts.LIST_APPROVALS,
            {},
            {
                "state": state,
                "threadId": thread_id,
                "limit": limit,
                "cursor": cursor,
            },
            actor=actor,
        )

    def get(
        self,
        approval: str,
        *,
        actor: str | None = None,
    ) -> t.Approval:
        """Shows an approval."""
        answered: t.Approval = self._way.call(facts.GET_APPROVAL, {"approval": approval}, {}, actor=actor)
        return answered

    def approve(
        self,
        approval: str,
        *,
        reason: str | None = None,
        expected_version: int | None = None,
        writer: str | None = None,
        idempotency_key: str | None = None,
        actor: str | None = None,
    ) -> t.Approval:
        """Approves a request.

        Args:
            reason: The reason, for people to read.
        """
        answered: t.Approval = self._way.call(
            facts.APPROVE,
            {"approval": approval},
            {"reason": reason},
            expected_version=expected_version,
            writer=writer,
            idempotency_key=idempotency_key,
            actor=actor,
        )
        return answered

    def deny(
        self,
        approval: str,
        *,
        reason: str | None = None,
        expected_version: int | None = None,
        writer: str | None = None,
        idempotency_key: str | None = None,
        actor: str | None = None,
    ) -> t.Approval:
        """Denies a request.

        Args:
            reason: The reason, for people to read.
        """
        answered: t.Approval = self._way.call(
            facts.DENY,
            {"approval": approval},
            {"reason": reason},
            expected_version=expected_version,
            writer=writer,
            idempotency_key=idempotency_key,
            actor=actor,
        )
        return answered

    def revoke(
        self,
        approval: str,
        *,
        reason: str | None = None,
        expected_version: int | None = None,
        writer: str | None = None,
        idempotency_key: str | None = None,
        actor: str | None = None,
    ) -> t.Approval:
        """Withdraws a pending approval, or revokes an approved one.

        Args:
            reason: The reason, for people to read.
        """
        answered: t.Approval = self._way.call(
            facts.REVOKE_APPROVAL,
            {"approval": approval},
            {"reason": reason},
            expected_version=expected_version,
            writer=writer,
            idempotency_key=idempotency_key,
            actor=actor,
        )
        return answered


class DelegationsCalls:
    """The calls of `delegations`."""

    __slots__ = ("_way",)

    def __init__(self, way: Way) -> None:
        self._way = way

    def revoke(
        self,
        delegation: str,
        *,
        reason: str | None = None,
        expected_version: int | None = None,
        writer: str | None = None,
        actor: str | None = None,
    ) -> t.Delegation:
        """Revokes a delegation; agents have to ask again.

        Args:
            reason: The reason, for people to read.
        """
        answered: t.Delegation = self._way.call(
            facts.REVOKE_DELEGATION,
            {"delegation": delegation},
            {"reason": reason},
            expected_version=expected_version,
            writer=writer,
            actor=actor,
        )
        return answered


class ReferencesCalls:
    """The calls of `references`."""

    __slots__ = ("_way",)

    def __init__(self, way: Way) -> None:
        self._way = way

    def get(
        self,
        reference: str,
        *,
        actor: str | None = None,
    ) -> t.Reference:
        """Shows a reference."""
        answered: t.Reference = self._way.call(facts.GET_REFERENCE, {"reference": reference}, {}, actor=actor)
        return answered

    def list_referred_messages(
        self,
        reference: str,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        around: t.MessageName | None = None,
        order: Literal["asc", "desc"] | None = None,
        role: t.Role | None = None,
        max_depth: int | None = None,
        include_silent: bool | None = None,
        as_of: t.Version | None = None,
        from_: t.ThreadName | None = None,
        total: bool | None = None,
        actor: str | None = None,
    ) -> Paged[t.Message]:
        """Reads the messages that a reference shows.

        Args:
            limit: Number of items in a page.
            cursor: The cursor of the page before.
            offset: Number of messages to skip. It excludes a cursor.
            around: The page around this message, the oldest first. It excludes a cursor, an
                offset, a falling order and filters.
            order: The oldest first, or the newest. Default: asc.
            role: Messages of this role.
            max_depth: Messages at most this far below the conversation. Default: 0.
            include_silent: Whether silent messages are included.
            as_of: As the thread was at this version.
            from_: A thread of the reader, which mentions this one by reading it. It needs a key
                that may write.
            total: Whether to tell how many messages pass the filters. Default: true, unless a
                role is named without an offset.
        """
        return self._way.pages(
            facts.LIST_REFERRED_MESSAGES,
            {"reference": reference},
            {
                "limit": limit,
                "cursor": cursor,
                "offset": offset,
                "around": around,
                "order": order,
                "role": role,
                "maxDepth": max_depth,
                "includeSilent": include_silent,
                "asOf": as_of,
                "from": from_,
                "total": total,
            },
            actor=actor,
        )

    def list_referred_files(
        self,
        reference: str,
        *,
        below: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        actor: str | None = None,
    ) -> Paged[t.FileRecord]:
        """Lists the files that a reference shows.

        Args:
            below: Only what is below this directory.
            limit: Maximum number of items.
            cursor: The `nextCursor` of the previous page.
        """
        return self._way.pages(
            facts.LIST_REFERRED_FILES,
            {"reference": reference},
            {"below": below, "limit": limit, "cursor": cursor},
            actor=actor,
        )

    def list_referred_values(
        self,
        reference: str,
        *,
        prefix: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        actor: str | None = None,
    ) -> Paged[t.Value]:
        """Lists the values that a reference shows, in the order of their keys.

        Args:
            prefix: Those whose keys begin with this.
            limit: Maximum number of items.
            cursor: The `nextCursor` of the previous page.
        """
        return self._way.pages(
            facts.LIST_REFERRED_VALUES,
            {"reference": reference},
            {"prefix": prefix, "limit": limit, "cursor": cursor},
            actor=actor,
        )

    def get_referred_value(
        self,
        reference: str,
        value_key: str,
        *,
        actor: str | None = None,
    ) -> t.Value:
        """Shows a value through a reference. A missing key has the value null and version 0."""
        answered: t.Value = self._way.call(
            facts.GET_REFERRED_VALUE,
            {"reference": reference, "valueKey": value_key},
            {},
            actor=actor,
        )
        return answered


class RunsCalls:
    """The calls of `runs`."""

    __slots__ = ("_way",)

    def __init__(self, way: Way) -> None:
        self._way = way

    def list(
        self,
        *,
        status: Literal["queued", "running", "waiting", "completed", "failed", "stopped", "open", "ended", "all"] | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        actor: str | None = None,
    ) -> Paged[t.Run]:
        """Lists the runs of all threads: open ones by their start, then ended ones by their end,
        oldest first.

        Args:
            status: Runs with this status. Default: all.
            limit: Number of items in a page.
            cursor: The cursor of the page before.
        """
        return self._way.pages(
            facts.LIST_RUNS,
            {},
            {"status": status, "limit": limit, "cursor": cursor},
            actor=actor,
        )

    def get(
        self,
        run: str,
        *,
        actor: str | None = None,
    ) -> t.RunTold:
        """Shows a run, and of each step the model, what it was given, tokens, cost and times."""
        answered: t.RunTold = self._way.call(facts.GET_RUN, {"run": run}, {}, actor=actor)
        return answered

    def step(
        self,
        run: str,
        *,
        attempt: int | None = None,
        ttl: int | None = None,
        messages: Sequence[t.NewMessage] | None = None,
        continues: bool | None = None,
        delivers_nothing: bool | None = None,
        model: t.ModelCall | None = None,
        waits: Sequence[t.Wait] | None = None,
        expected_version: int | None = None,
        writer: str | None = None,
        idempotency_key: str | None = None,
        actor: str | None = None,
    ) -> t.Progressed:
        """Takes a step: appends messages, and returns queued messages and injections.

        Args:
            attempt: The attempt that steps, as the start told it. A step of an earlier attempt
                is refused.
            ttl: Longest time until the next step, in milliseconds. Default: ten minutes.
            messages: Messages to append first.
            continues: Whether it goes on with the step before, such as with the result of a
                call. Such a step is not counted.
            delivers_nothing: Whether queued messages and injections go on waiting.
            model: The model that was asked, what it was given, and what that took.
            waits: The answers that the run waits for from now on. The answer to each wakes it;
                then it is resumed.
        """
        answered: t.Progressed = self._way.call(
            facts.STEP_RUN,
            {"run": run},
            {
                "attempt": attempt,
                "ttl": ttl,
                "messages": messages,
                "continues": continues,
                "deliversNothing": delivers_nothing,
                "model": model,
                "waits": waits,
            },
            expected_version=expected_version,
            writer=writer,
            idempotency_key=idempotency_key,
            actor=actor,
        )
        return answered

    def send_delta(
        self,
        run: str,
        *,
        text: str,
        attempt: int | None = None,
        actor: str | None = None,
    ) -> t.DeltaTold:
        """Sends text as it is made to the readers of the run's stream. It is not logged.

        Args:
            attempt: The attempt that speaks, as the start told it.
            text: Text to add to what the step said so far.
        """
        answered: t.DeltaTold = self._way.call(
            facts.SEND_DELTA,
            {"run": run},
            {"attempt": attempt, "text": text},
            actor=actor,
        )
        return answered

    def end(
        self,
        run: str,
        *,
        attempt: int | None = None,
        status: t.RunOutcome | None = None,
        reason: str | None = None,
        messages: Sequence[t.NewMessage] | None = None,
        expected_version: int | None = None,
        writer: str | None = None,
        idempotency_key: str | None = None,
        actor: str | None = None,
    ) -> t.Progressed:
        """Ends a run.

        Args:
            attempt: The attempt that ends it, as the start told it.
            status: The outcome of the run.
            reason: The code of the reason, such as `stop_tool`: lower-case letters, digits and
                underscores.
            messages: Messages to append first.
        """
        answered: t.Progressed = self._way.call(
            facts.END_RUN,
            {"run": run},
            {
                "attempt": attempt,
                "status": status,
                "reason": reason,
                "messages": messages,
            },
            expected_version=expected_version,
            writer=writer,
            idempotency_key=idempotency_key,
            actor=actor,
        )
        return answered

    def stop(
        self,
        run: str,
        *,
        now: bool | None = None,
        expected_version: int | None = None,
        writer: str | None = None,
        idempotency_key: str | None = None,
        actor: str | None = None,
    ) -> t.Run:
        """Asks the executor of a run to stop. After 5 seconds the run ends in any case.

        Args:
            now: Ends the run at once, without time for its executor.
        """
        answered: t.Run = self._way.call(
            facts.STOP_RUN,
            {"run": run},
            {"now": now},
            expected_version=expected_version,
            writer=writer,
            idempotency_key=idempotency_key,
            actor=actor,
        )
        return answered

    def force_turn(
        self,
        run: str,
        *,
        side: t.RunSide,
        expected_version: int | None = None,
        writer: str | None = None,
        idempotency_key: str | None = None,
        actor: str | None = None,
    ) -> t.Run:
        """Gives the next turn of a `dual_ai` run to a side. The executor takes this up before its next
        step.

        Args:
            side: The side that speaks next: `a` or `b`.
        """
        answered: t.Run = self._way.call(
            facts.FORCE_TURN,
            {"run": run},
            {"side": side},
            expected_version=expected_version,
            writer=writer,
            idempotency_key=idempotency_key,
            actor=actor,
        )
        return answered


class EnvCalls:
    """The calls of `env`."""

    __slots__ = ("_way",)

    def __init__(self, way: Way) -> None:
        self._way = way

    def list(
        self,
        *,
        actor: str | None = None,
    ) -> Page[t.EnvVariable]:
        """Lists the variables of the account, by name. Values of secrets are left out."""
        answered: Page[t.EnvVariable] = self._way.call(facts.LIST_ACCOUNT_ENV, {}, {}, actor=actor)
        return answered

    def get(
        self,
        name: str,
        *,
        actor: str | None = None,
    ) -> t.EnvVariable:
        """Reads a variable of the account, with its value, also if it is a secret."""
        answered: t.EnvVariable = self._way.call(facts.GET_ACCOUNT_ENV, {"name": name}, {}, actor=actor)
        return answered

    def set(
        self,
        name: str,
        *,
        value: str,
        type: t.EnvType | None = None,
        actor: str | None = None,
    ) -> t.EnvVariable:
        """Sets a variable of the account. Every thread of the account sees it, unless it has one of
        the same name. The value is sealed.

        Args:
            value: The value: text, at most 16 KiB. An empty text is a value.
            type: Whether the value may be shown. Without it the type stays; new variables are
                secrets.
        """
        answered: t.EnvVariable = self._way.call(
            facts.SET_ACCOUNT_ENV,
            {"name": name},
            {"value": value, "type": type},
            actor=actor,
        )
        return answered

    def delete(
        self,
        name: str,
        *,
        actor: str | None = None,
    ) -> t.Deleted:
        """Removes a variable of the account. Its value is deleted."""
        answered: t.Deleted = self._way.call(facts.DELETE_ACCOUNT_ENV, {"name": name}, {}, actor=actor)
        return answered


class AdminCalls:
    """The calls of `admin`."""

    __slots__ = ("_way",)

    def __init__(self, way: Way) -> None:
        self._way = way

    def list_instance_env(
        self,
        *,
        actor: str | None = None,
    ) -> Page[t.EnvVariable]:
        """Lists the names of the instance's variables: those in the server's environment that begin
        with `THREADKEEP_ENV_`.
        """
        answered: Page[t.EnvVariable] = self._way.call(facts.LIST_INSTANCE_ENV, {}, {}, actor=actor)
        return answered

    def collect_garbage(
        self,
        *,
        vacuum: bool | None = None,
        actor: str | None = None,
    ) -> t.Gc:
        """Frees data that no thread reaches any more.

        Args:
            vacuum: Give the space back to the file system too.
        """
        answered: t.Gc = self._way.call(facts.COLLECT_GARBAGE, {}, {"vacuum": vacuum}, actor=actor)
        return answered

    def run_doctor(
        self,
        *,
        repair: bool | None = None,
        actor: str | None = None,
    ) -> t.Doctor:
        """Compares all derived data with the log, and rebuilds it if `repair` is set.

        Args:
            repair: Rebuild from the log what is derived and wrong.
        """
        answered: t.Doctor = self._way.call(facts.RUN_DOCTOR, {}, {"repair": repair}, actor=actor)
        return answered

    def adopt_effects(
        self,
        *,
        thread_id: t.ThreadName | None = None,
        actor: str | None = None,
    ) -> t.Adopted:
        """Lets this store run effects that came along with a backup, a copy or an import. They wait
        until then: the original store may still run them.

        Args:
            thread_id: Only effects of this thread. Default: of all threads, of all accounts.
        """
        answered: t.Adopted = self._way.call(facts.ADOPT_EFFECTS, {}, {"threadId": thread_id}, actor=actor)
        return answered


class SearchingCalls:
    """The calls of `searching`."""

    __slots__ = ("_way",)

    def __init__(self, way: Way) -> None:
        self._way = way

    def search(
        self,
        *,
        query: str,
        agent_id: str | None = None,
        project_id: str | None = None,
        thread_id: t.ThreadName | None = None,
        after: t.Timestamp | None = None,
        before: t.Timestamp | None = None,
        role: t.Role | None = None,
        metadata: Mapping[str, Any] | None = None,
        tag: str | None = None,
        limit: int | None = None,
        context_window: int | None = None,
        include_superseded: bool | None = None,
        actor: str | None = None,
    ) -> t.SearchFound:
        """Finds the account's threads that match a question, the best first, each opened at its best
        message.

        Args:
            query: The question, in plain words. Quotation marks ask for words that stand one
                after the other; nothing else is syntax. It has at most 256 KiB.
            agent_id: Only threads of this agent.
            project_id: Only threads of this project.
            thread_id: Only this thread and its forks.
            after: Only messages from this moment on.
            before: Only messages before this moment.
            role: Only messages of this role. Those of users and assistants are indexed, so
                others find nothing.
            metadata: Only threads whose metadata contain this object: members by name, every
                element in some element, scalars equal.
            tag: Only threads with this tag, in `metadata.tags` or `env.initial.tags`.
            limit: Number of threads (default 5, maximum 100).
            context_window: So many messages on either side of a hit; 3 if nothing is said.
            include_superseded: Also messages that were rolled back, edited or deleted.
        """
        answered: t.SearchFound = self._way.call(
            facts.SEARCH,
            {},
            {
                "query": query,
                "agentId": agent_id,
                "projectId": project_id,
                "threadId": thread_id,
                "after": after,
                "before": before,
                "role": role,
                "metadata": metadata,
                "tag": tag,
                "limit": limit,
                "contextWindow": context_window,
                "includeSuperseded": include_superseded,
            },
            actor=actor,
        )
        return answered

    def backfill_search(
        self,
        *,
        agent_id: str | None = None,
        actor: str | None = None,
    ) -> t.Backfilled:
        """Indexes missing messages, and drops messages that no thread shows any more.

        Args:
            agent_id: The agent whose messages are counted in the answer; all of the account if
                nothing is said. What is indexed is always everything.
        """
        answered: t.Backfilled = self._way.call(facts.BACKFILL_SEARCH, {}, {"agentId": agent_id}, actor=actor)
        return answered

    def get_search_status(
        self,
        *,
        actor: str | None = None,
    ) -> t.SearchStatus:
        """Shows how far the search index follows the log, and its size for the account."""
        answered: t.SearchStatus = self._way.call(facts.GET_SEARCH_STATUS, {}, {}, actor=actor)
        return answered


class ProjectsCalls:
    """The calls of `projects`."""

    __slots__ = ("_way",)

    def __init__(self, way: Way) -> None:
        self._way = way

    def list(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        actor: str | None = None,
    ) -> Paged[t.Project]:
        """Lists the account's projects, in the order of their ids.

        Args:
            limit: Number of items in a page.
            cursor: The cursor of the page before.
        """
        return self._way.pages(facts.LIST_PROJECTS, {}, {"limit": limit, "cursor": cursor}, actor=actor)

    def create(
        self,
        *,
        name: str,
        id: str | None = None,
        icon_name: str | None = None,
        sandbox: t.Sandbox | None = None,
        actor: str | None = None,
    ) -> t.Project:
        """Makes a project.

        Args:
            id: Its id; a new one by default.
            name: A name for people.
            icon_name: The name of an icon.
            sandbox: The sandbox that its threads work in.
        """
        answered: t.Project = self._way.call(
            facts.CREATE_PROJECT,
            {},
            {"id": id, "name": name, "iconName": icon_name, "sandbox": sandbox},
            actor=actor,
        )
        return answered

    def get(
        self,
        project: str,
        *,
        actor: str | None = None,
    ) -> t.Project:
        """Shows a project."""
        answered: t.Project = self._way.call(facts.GET_PROJECT, {"project": project}, {}, actor=actor)
        return answered

    def put(
        self,
        project: str,
        *,
        name: str,
        id: str | None = None,
        icon_name: str | None = None,
        sandbox: t.Sandbox | None = None,
        actor: str | None = None,
    ) -> t.Project:
        """Makes a project with this id, or replaces its fields.

        Args:
            id: Its id; a new one by default.
            name: A name for people.
            icon_name: The name of an icon.
            sandbox: The sandbox that its threads work in.
        """
        answered: t.Project = self._way.call(
            facts.PUT_PROJECT,
            {"project": project},
            {"id": id, "name": name, "iconName": icon_name, "sandbox": sandbox},
            actor=actor,
        )
        return answered

    def update(
        self,
        project: str,
        *,
        name: str | None = None,
        icon_name: str | None | Omit = OMIT,
        sandbox: t.Sandbox | None | Omit = OMIT,
        actor: str | None = None,
    ) -> t.Project:
        """Replaces fields of a project; null clears one.

        Args:
            name: A name for people.
            icon_name: The name of an icon.
            sandbox: The sandbox that its threads work in.
        """
        answered: t.Project = self._way.call(
            facts.UPDATE_PROJECT,
            {"project": project},
            {"name": name, "iconName": icon_name, "sandbox": sandbox},
            actor=actor,
        )
        return answered

    def delete(
        self,
        project: str,
        *,
        actor: str | None = None,
    ) -> t.Deleted:
        """Deletes a project; its threads stay."""
        answered: t.Deleted = self._way.call(facts.DELETE_PROJECT, {"project": project}, {}, actor=actor)
        return answered

    def list_project_memories(
        self,
        project: str,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        actor: str | None = None,
    ) -> Paged[t.Memory]:
        """Lists the memories of a project, the oldest first.

        Args:
            limit: Number of items in a page.
            cursor: The cursor of the page before.
        """
        return self._way.pages(
            facts.LIST_PROJECT_MEMORIES,
            {"project": project},
            {"limit": limit, "cursor": cursor},
            actor=actor,
        )

    def create_project_memory(
        self,
        project: str,
        *,
        text: str,
        sources: Sequence[t.MessageName] | None = None,
        thread_id: t.ThreadName | None = None,
        actor: str | None = None,
    ) -> t.Memory:
        """Remembers a text in the threads of a project. The same text is remembered once.

        Args:
            text: What to remember: at most 8 KiB. A text that is there already gets the new
                sources.
            sources: The messages that it was taken from, at most 64, all shown by one thread of
                the account.
            thread_id: The thread that shows the sources [default: the thread that wrote the
                first of them].
        """
        answered: t.Memory = self._way.call(
            facts.CREATE_PROJECT_MEMORY,
            {"project": project},
            {"text": text, "sources": sources, "threadId": thread_id},
            actor=actor,
        )
        return answered


class MemoriesCalls:
    """The calls of `memories`."""

    __slots__ = ("_way",)

    def __init__(self, way: Way) -> None:
        self._way = way

    def list(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        actor: str | None = None,
    ) -> Paged[t.Memory]:
        """Lists the memories of the account, the oldest first, those of its projects too.

        Args:
            limit: Number of items in a page.
            cursor: The cursor of the page before.
        """
        return self._way.pages(facts.LIST_MEMORIES, {}, {"limit": limit, "cursor": cursor}, actor=actor)

    def create(
        self,
        *,
        text: str,
        sources: Sequence[t.MessageName] | None = None,
        thread_id: t.ThreadName | None = None,
        actor: str | None = None,
    ) -> t.Memory:
        """Remembers a text in all threads of the account. The same text is remembered once.

        Args:
            text: What to remember: at most 8 KiB. A text that is there already gets the new
                sources.
            sources: The messages that it was taken from, at most 64, all shown by one thread of
                the account.
            thread_id: The thread that shows the sources [default: the thread that wrote the
                first of them].
        """
        answered: t.Memory = self._way.call(
            facts.CREATE_MEMORY,
            {},
            {"text": text, "sources": sources, "threadId": thread_id},
            actor=actor,
        )
        return answered

    def get(
        self,
        memory: str,
        *,
        actor: str | None = None,
    ) -> t.Memory:
        """Shows a memory."""
        answered: t.Memory = self._way.call(facts.GET_MEMORY, {"memory": memory}, {}, actor=actor)
        return answered

    def update(
        self,
        memory: str,
        *,
        text: str,
        actor: str | None = None,
    ) -> t.Memory:
        """Replaces the text of a memory. One that a person edited outlives its sources.

        Args:
            text: The new text: at most 8 KiB.
        """
        answered: t.Memory = self._way.call(facts.UPDATE_MEMORY, {"memory": memory}, {"text": text}, actor=actor)
        return answered

    def delete(
        self,
        memory: str,
        *,
        actor: str | None = None,
    ) -> t.Deleted:
        """Forgets a memory."""
        answered: t.Deleted = self._way.call(facts.DELETE_MEMORY, {"memory": memory}, {}, actor=actor)
        return answered

    def search(
        self,
        *,
        query: str,
        project_id: str | None = None,
        limit: int | None = None,
        actor: str | None = None,
    ) -> t.MemoriesFound:
        """Finds the account's memories that match a question, the best first.

        Args:
            query: The question, in plain words. Quotation marks ask for words that follow each
                other.
            project_id: Those that hold in this project: the account's and its own. Without it,
                all memories are searched.
            limit: Number of memories (default 5, maximum 100).
        """
        answered: t.MemoriesFound = self._way.call(
            facts.SEARCH_MEMORIES,
            {},
            {"query": query, "projectId": project_id, "limit": limit},
            actor=actor,
        )
        return answered


class KeysCalls:
    """The calls of `keys`."""

    __slots__ = ("_way",)

    def __init__(self, way: Way) -> None:
        self._way = way

    def list(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        actor: str | None = None,
    ) -> Paged[t.Key]:
        """Lists the keys, without their secrets.

        Args:
            limit: Number of items in a page.
            cursor: The cursor of the page before.
        """
        return self._way.pages(facts.LIST_KEYS, {}, {"limit": limit, "cursor": cursor}, actor=actor)

    def create(
        self,
        *,
        account: str,
        scope: t.Scope | None = None,
        name: str | None = None,
        agent: bool | None = None,
        expires_at: t.Timestamp | None = None,
        actor: str | None = None,
    ) -> t.CreatedKey:
        """Makes a key. Only this answer has its secret.

        Args:
            account: The account it speaks for.
            scope: The rights of the key. Default: `write`.
            name: Who uses it. Default: the account's name.
            agent: Whether an agent uses it.
            expires_at: When it ends by itself.
        """
        answered: t.CreatedKey = self._way.call(
            facts.CREATE_KEY,
            {},
            {
                "account": account,
                "scope": scope,
                "name": name,
                "agent": agent,
                "expiresAt": expires_at,
            },
            actor=actor,
        )
        return answered

    def revoke(
        self,
        key: str,
        *,
        actor: str | None = None,
    ) -> t.Revoked:
        """Revokes a key; its streams end."""
        answered: t.Revoked = self._way.call(facts.REVOKE_KEY, {"key": key}, {}, actor=actor)
        return answered


class TicketsCalls:
    """The calls of `tickets`."""

    __slots__ = ("_way",)

    def __init__(self, way: Way) -> None:
        self._way = way

    def create(
        self,
        *,
        path: str,
        actor: str | None = None,
    ) -> t.Ticket:
        """Makes a ticket, which opens one stream once, within a minute, in place of a key.

        Args:
            path: Its path, without a query.
        """
        answered: t.Ticket = self._way.call(facts.CREATE_TICKET, {}, {"path": path}, actor=actor)
        return answered


class AccountCalls:
    """The calls of `account`."""

    __slots__ = ("_way",)

    def __init__(self, way: Way) -> None:
        self._way = way

    def get(
        self,
        *,
        actor: str | None = None,
    ) -> t.Me:
        """Shows the account, the actor and the scope of the key, and the version of the server."""
        answered: t.Me = self._way.call(facts.GET_ME, {}, {}, actor=actor)
        return answered


class DefinitionsCalls:
    """The calls of `definitions`."""

    __slots__ = ("_way",)

    def __init__(self, way: Way) -> None:
        self._way = way

    def list(
        self,
        *,
        actor: str | None = None,
    ) -> t.DefinitionList:
        """Lists all definitions of the server, and the mistakes in their files."""
        answered: t.DefinitionList = self._way.call(facts.LIST_DEFINITIONS, {}, {}, actor=actor)
        return answered

    def get(
        self,
        kind: str,
        definition: str,
        *,
        actor: str | None = None,
    ) -> t.Definition:
        """Shows a definition: what its file says, without code and without the values of variables."""
        answered: t.Definition = self._way.call(
            facts.GET_DEFINITION,
            {"kind": kind, "definition": definition},
            {},
            actor=actor,
        )
        return answered

    def reload(
        self,
        *,
        actor: str | None = None,
    ) -> t.DefinitionList:
        """Reads the folder of definitions again. A server also does so by itself, within a second of a
        change.
        """
        answered: t.DefinitionList = self._way.call(facts.RELOAD_DEFINITIONS, {}, {}, actor=actor)
        return answered
