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
import type { ResolvedEvent } from '../wire/resolved-event.js'

export interface GroupContext extends ServerContext {
  /** The groups, or `undefined` if another process runs them or the server is read-only. */
  readonly groups: Groups<ResolvedEvent> | undefined
  /** The streams that have had a group since the last start. Listing the groups of such a stream is never an error. */
  readonly sources: Set<string>
}

export function groupsOf({ groups }: GroupContext): Groups<ResolvedEvent> {
  if (groups === undefined) throw accessDenied()
  return groups
}

/** Rejects the use of a group that the service created, which is reserved like the service's streams. @throws CallError */
export function requireChangeable({ access, groups }: GroupContext, name: GroupName): void {
  if (!access.canWriteReserved && groups?.find(name)?.madeBy === 'service') throw accessDenied()
}

/** Reloads all groups, as a restart of the server would. */
export async function restartGroups(context: GroupContext): Promise<void> {
  const groups = groupsOf(context)
  await groups.restart()
  context.sources.clear()
  for (const { source } of groups.all()) context.sources.add(source)
}

/** Converts an error of a group to the client's error. Returns any other error unchanged. */
export function asGroupError(error: unknown, name: GroupName): unknown {
  const { ALREADY_EXISTS, FAILED_PRECONDITION, CANCELLED } = status
  if (error instanceof PersistentSubscriptionMissingError) return groupMissing(name)
  if (error instanceof PersistentSubscriptionExistsError)
    return groupError(name, ALREADY_EXISTS, 'persistent-subscription-exists', 'already exists.')
  if (error instanceof MaximumSubscribersReachedError)
    return groupError(name, FAILED_PRECONDITION, 'maximum-subscribers-reached', 'has the maximum number of consumers.')
  if (error instanceof ConsumerDroppedError)
    return groupError(name, CANCELLED, 'persistent-subscription-dropped', 'was dropped.')
  if (!(error instanceof InvalidSettingsError || error instanceof GroupHeldElsewhereError)) return error
  const code = error instanceof InvalidSettingsError ? status.INTERNAL : status.UNAVAILABLE
  const reason = error.message
  return groupError(name, code, 'persistent-subscription-failed', `failed: '${reason}'`, { reason })
}

export function groupMissing(name: GroupName): CallError {
  return groupError(name, status.NOT_FOUND, 'persistent-subscription-does-not-exist', 'does not exist.')
}

function groupError({ source, group }: GroupName, code: status, exception: string, text: string, trailers = {}) {
  const details = { exception, 'stream-name': source, 'group-name': group, ...trailers }
  return new CallError(code, `Subscription group ${group} on stream ${source} ${text}`, details)
}
