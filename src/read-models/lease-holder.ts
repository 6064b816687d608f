import { createHash, randomUUID } from 'node:crypto'
import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'

const holderPattern = /^(.+)\/(\d+)\/[^/]+$/

/** Returns the id of this process among all that use the same stores, as `host/pid`. */
export function ownNodeId(): string {
  return `${hostId()}/${process.pid}`
}

/** Returns an id for one use of one lease, as `host/pid/random`. Threads of a process differ in the random part. */
export function newHolderId(): string {
  return `${ownNodeId()}/${randomUUID()}`
}

/** Returns the process of a holder in the form of {@link ownNodeId}. */
export function nodeOfHolder(holder: string): string {
  const [, host, pid] = holderPattern.exec(holder) ?? []
  return host === undefined ? holder : `${host}/${pid}`
}

/** Returns true only if the holder ran where process ids have the same meaning as here, and its process is gone. */
export function isDeadHolder(holder: string): boolean {
  const [, host, pid] = holderPattern.exec(holder) ?? []
  if (host === undefined || host !== hostId()) return false
  try {
    process.kill(Number(pid), 0)
    return false
  } catch (error) {
    // EPERM means that the process is alive and belongs to another user.
    return (error as NodeJS.ErrnoException).code === 'ESRCH'
  }
}

function hostId(): string {
  ownHost ??= readHostId()
  return ownHost
}

let ownHost: string | undefined

/**
 * The host's name alone is not sufficient: two containers can share it and a volume, and each would find the other's process ids dead while
 * both run. Therefore the boot id and the namespace of process ids are included if the system provides them.
 */
function readHostId(): string {
  const namespace = [
    () => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8'),
    () => readlinkSync('/proc/self/ns/pid'),
  ]
  const parts = namespace.map((read) => {
    try {
      return read()
    } catch {
      return ''
    }
  })
  return `${hostname()}-${createHash('sha256').update(parts.join()).digest('hex').slice(0, 12)}`
}
