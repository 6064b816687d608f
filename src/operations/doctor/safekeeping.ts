import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { dayMs, minuteMs } from '../../kernel/time.js'
import { lastBackupMs } from '../files/last-backup.js'
import { type Check, CheckSubject, inWords } from './check.js'

/** A checkpoint is signed every minute if there are new events. */
const unsignedMs = 5 * minuteMs
const backupOldMs = 2 * dayMs

/** Checks how far the last signed checkpoint of the tree is behind the log. */
export async function auditCheck(directory: string, newestEventMs: number | null): Promise<Check> {
  const tree = new CheckSubject('audit', directory)
  try {
    const { mtimeMs } = await stat(join(directory, 'checkpoint'))
    const behindMs = (newestEventMs ?? 0) - mtimeMs
    if (behindMs < unsignedMs) return tree.ok('A signed checkpoint covers the newest events.')
    const found = `No checkpoint covers the last ${inWords(behindMs)} of events.`
    return tree.warning(found, 'A running node signs every minute: check its log and the disk.')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return tree.unknown('There is no checkpoint yet.')
    return tree.failed(`The checkpoint cannot be read: ${code}.`, 'Give the user of the service read access.')
  }
}

/** Only knows backups by commands on this machine. */
export async function backupCheck(dataDirectory: string, nowMs: number): Promise<Check> {
  const backup = new CheckSubject('backup')
  const advice = 'Run transferd backup <target>: see docs/operating/backup.md.'
  const createdMs = await lastBackupMs(dataDirectory)
  if (createdMs === undefined) return backup.unknown('No command on this machine has created one.', advice)
  const found = `The last one was created ${inWords(nowMs - createdMs)} ago.`
  return nowMs - createdMs > backupOldMs ? backup.warning(found, advice) : backup.ok(found)
}
