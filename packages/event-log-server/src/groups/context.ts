import { status } from '@grpc/grpc-js'
import {
  ConsumerDroppedError,
  GroupHeldElsewhereError,
  InvalidSettingsError,
  MaximumSubscribersReachedError,
  PersistentSubscriptionExistsError,
  PersistentSubscriptionMissingError,
} from '@transferd/event-log'
import type { GroupName, Groups } from '@transferd/event-log/groups'
import type { ServerContext } from '../calls/call.js'
import { accessDenied, CallError } from '../wire/call-error.js'
import type { ResolvedEvent } from '../wire/recorded-event.js'

export interface PersistentContext extends ServerContext {
  /** Undefined where this process may not run them: another one does, or the log is only read. */
  readonly groups: Groups<ResolvedEvent> | undefined
  /** Streams that had a group since the last start: asking for theirs is no mistake. */
  readonly sources: Set<string>
}

export function groupsOf({ groups }: PersistentContext): Groups<ResolvedEvent> {
  if (groups === undefined) throw accessDenied()
  return groups
}

/** The service's groups are its own, as its streams are. @throws CallError */
export function mayChange({ access, groups }: PersistentContext, name: GroupName): void {
  if (!access.opensReserved && groups?.find(name)?.madeBy === 'service') throw accessDenied()
}

/** Loads all groups anew, as a restart of the server would. */
export async function restartGroups(context: PersistentContext): Promise<void> {
  const groups = groupsOf(context)
  await groups.restart()
  context.sources.clear()
  for (const { source } of groups.all()) context.sources.add(source)
}

/** What an error of the groups is towards clients; anything else is handed on. */
export function asGroupError(error: unknown, name: GroupName): unknown {
  const made = (code: status, exception: string, text: string, trailers = {}) =>
    groupError(code, exception, `Subscription group ${name.group} on stream ${name.source} ${text}`, name, trailers)
  if (error instanceof PersistentSubscriptionMissingError) return groupMissing(name)
  if (error instanceof PersistentSubscriptionExistsError)
    return made(status.ALREADY_EXISTS, 'persistent-subscription-exists', 'exists.')
  if (error instanceof InvalidSettingsError) {
    const reason = error.message
    return made(status.INTERNAL, 'persistent-subscription-failed', `failed: '${reason}'`, { reason })
  }
  if (error instanceof MaximumSubscribersReachedError)
    return made(status.FAILED_PRECONDITION, 'maximum-subscribers-reached', 'has as many consumers as it takes.')
  if (error instanceof ConsumerDroppedError)
    return made(status.CANCELLED, 'persistent-subscription-dropped', 'was dropped.')
  if (error instanceof GroupHeldElsewhereError)
    return made(status.UNAVAILABLE, 'persistent-subscription-failed', `failed: '${error.message}'`, {
      reason: error.message,
    })
  return error
}

export function groupMissing({ source, group }: GroupName): CallError {
  const text = `Subscription group ${group} on stream ${source} does not exist.`
  return groupError(status.NOT_FOUND, 'persistent-subscription-does-not-exist', text, { source, group })
}

function groupError(
  code: status,
  exception: string,
  text: string,
  { source, group }: GroupName,
  trailers: Readonly<Record<string, string>> = {},
): CallError {
  return new CallError(code, text, { exception, 'stream-name': source, 'group-name': group, ...trailers })
}
