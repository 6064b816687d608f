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
import type { ServerContext } from '../calls/call-handlers.js'
import { accessDenied, CallError } from '../wire/call-error.js'
import type { ResolvedEvent } from '../wire/event-messages.js'

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
  if (!access.canWriteReserved && groups?.find(name)?.madeBy === 'service') throw accessDenied()
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
  if (error instanceof PersistentSubscriptionMissingError) return groupMissing(name)
  if (error instanceof PersistentSubscriptionExistsError)
    return groupError(name, status.ALREADY_EXISTS, 'persistent-subscription-exists', 'exists.')
  if (error instanceof MaximumSubscribersReachedError)
    return groupError(
      name,
      status.FAILED_PRECONDITION,
      'maximum-subscribers-reached',
      'has as many consumers as it takes.',
    )
  if (error instanceof ConsumerDroppedError)
    return groupError(name, status.CANCELLED, 'persistent-subscription-dropped', 'was dropped.')
  if (!(error instanceof InvalidSettingsError || error instanceof GroupHeldElsewhereError)) return error
  const code = error instanceof InvalidSettingsError ? status.INTERNAL : status.UNAVAILABLE
  const reason = error.message
  return groupError(name, code, 'persistent-subscription-failed', `failed: '${reason}'`, { reason })
}

export function groupMissing(name: GroupName): CallError {
  return groupError(name, status.NOT_FOUND, 'persistent-subscription-does-not-exist', 'does not exist.')
}

function groupError({ source, group }: GroupName, code: status, exception: string, text: string, trailers = {}) {
  const names = { 'stream-name': source, 'group-name': group }
  return new CallError(code, `Subscription group ${group} on stream ${source} ${text}`, {
    exception,
    ...names,
    ...trailers,
  })
}
