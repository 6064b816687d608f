import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { dayMs, minuteMs } from '../../kernel/time.js'
import { lastBackupMs } from '../files/last-backup.js'
import { type Check, Examined, inWords } from './check.js'

/** A checkpoint is signed every minute while there is something new. */
const unsignedMs = 5 * minuteMs
const backupOldMs = 2 * dayMs

/** How far behind the log the last signed checkpoint of the audit tree is. */
export async function auditCheck(directory: string, newestEventMs: number | null): Promise<Check> {
  const tree = new Examined('audit', directory)
  try {
    const { mtimeMs } = await stat(join(directory, 'checkpoint'))
    const behindMs = (newestEventMs ?? 0) - mtimeMs
    if (behindMs < unsignedMs) return tree.ok('The newest events are under a signed checkpoint.')
    const found = `What happened in the ${inWords(behindMs)} after the last checkpoint is under none.`
    return tree.warning(found, 'A node that runs signs every minute: look at its log and at the disk.')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return tree.unknown('No checkpoint is there yet.')
    return tree.failed(`The checkpoint cannot be read: ${code}.`, 'Give it to the user that runs the service.')
  }
}

/** What is made by other means than the commands of this machine is not seen here. */
export async function backupCheck(dataDirectory: string, nowMs: number): Promise<Check> {
  const backup = new Examined('backup')
  const advice = 'transferd backup <target>; docs/operating/backup.md.'
  const madeMs = await lastBackupMs(dataDirectory)
  if (madeMs === undefined) return backup.unknown('No command of this machine has made one.', advice)
  const found = `The last one was made ${inWords(nowMs - madeMs)} ago.`
  return nowMs - madeMs > backupOldMs ? backup.warning(found, advice) : backup.ok(found)
}
