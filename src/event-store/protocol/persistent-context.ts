import { status } from '@grpc/grpc-js'
import { accessDenied, CallError } from './call-error.js'
import type { ServerContext } from './calls.js'
import type { Groups } from './groups/groups.js'

export interface PersistentContext extends ServerContext {
  /** Undefined where this process may not run them: another one does, or the log is only read. */
  readonly groups: Groups | undefined
}

export function groupsOf({ groups }: PersistentContext): Groups {
  if (groups === undefined) throw accessDenied()
  return groups
}

export function groupMissing(source: string, group: string): CallError {
  const text = `Subscription group ${group} on stream ${source} does not exist.`
  return groupError(status.NOT_FOUND, 'persistent-subscription-does-not-exist', text, source, group)
}

export function groupError(
  code: status,
  exception: string,
  text: string,
  source: string,
  group: string,
  more: Readonly<Record<string, string>> = {},
): CallError {
  return new CallError(code, text, { exception, 'stream-name': source, 'group-name': group, ...more })
}
