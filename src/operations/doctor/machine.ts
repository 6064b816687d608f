import { existsSync } from 'node:fs'
import { access, constants, readdir, stat, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { DirectoryTiles, type NoteVerifier } from '@transferd/transparency-log'
import { checkpointPath, signedCheckpoint } from '../../audit/integrity/log-sealer.js'
import type { Finding } from '../../domain/integrity.js'
import type { Check } from '../../kernel/check.js'
import { counted } from '../../kernel/text.js'
import { dayMs, minuteMs } from '../../kernel/time.js'
import type { Node } from '../../read-models/nodes.js'
import type { Configuration } from '../configuration/configuration.js'
import { directoryProblem, messageWithRemedy } from '../files/directory-access.js'
import { lastBackupMs } from '../files/last-backup.js'
import { version } from '../version.js'

const mebibyte = 2 ** 20
/** A busy service uses up less within minutes. */
const leastFreeBytes = 256 * mebibyte
const comfortableBytes = 2_048 * mebibyte
const maxSkewMs = 2_000
const oldestNode = [20, 19] as const
/** A checkpoint is signed every minute if there are new events. */
const unsignedMs = 5 * minuteMs
const backupOldMs = 2 * dayMs
export const integrityRunbook = 'docs/operating/runbooks.md#the-log-does-not-verify'

/** Returns the directories of this installation, each once. */
export function directoriesOf({ dataDirectory, eventStore, readModels, keyStore }: Configuration): ReadonlySet<string> {
  const embedded = [eventStore, readModels, keyStore].flatMap((each) =>
    each.engine === 'embedded' ? each.directory : [],
  )
  return new Set([dataDirectory, ...embedded])
}

/** Returns the free bytes for the service's user. @throws the system's error */
export async function freeBytes(directory: string): Promise<number> {
  const { bavail, bsize } = await statfs(directory)
  return bavail * bsize
}

/** Warns if a rebuild, which needs as much space as the read models, could fill the disk. */
export async function diskCheck(directory: string): Promise<Check> {
  const disk = checking('disk', directory)
  try {
    await access(directory, constants.W_OK)
    const free = await freeBytes(directory)
    const stored = await bytesIn(directory)
    const found = `${inUnits(free)} free; its files take ${inUnits(stored)}.`
    const advice = 'Free disk space: see docs/operating/runbooks.md#the-disk-is-full.'
    if (free < leastFreeBytes) return disk.failed(found, advice)
    if (free < Math.max(comfortableBytes, stored)) return disk.warning(found, advice)
    return disk.ok(found)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return disk.unknown('It does not exist yet.', 'The service creates it when needed.')
    const remedy = messageWithRemedy(error as Error)
    return disk.failed(`It cannot be used: ${code}.`, remedy)
  }
}

async function bytesIn(directory: string): Promise<number> {
  const paths = (await readdir(directory)).map((name) => join(directory, name))
  const files = await Promise.all(paths.map((path) => stat(path).catch(() => undefined)))
  return files.reduce((sum, file) => sum + (file?.isFile() ? file.size : 0), 0)
}

function inUnits(bytes: number): string {
  const mebibytes = bytes / mebibyte
  return mebibytes >= 1_024 ? `${(mebibytes / 1_024).toFixed(1)} GiB` : `${mebibytes.toFixed(0)} MiB`
}

/** Finds a clock that is behind, by comparing it with the times of events and other nodes. */
export function clockCheck(nowMs: number, newestEventMs: number | null, nodes: readonly Node[]): Check {
  const clock = checking('clock')
  const advice = 'Synchronise the clocks of all nodes and stores (chrony, systemd-timesyncd): deposits expire by them.'
  if (newestEventMs !== null && newestEventMs - nowMs > maxSkewMs)
    return clock.failed(`The newest event was recorded in ${durationText(newestEventMs - nowMs)} from now.`, advice)
  const ahead = Math.max(0, ...nodes.map(({ seenAt }) => Date.parse(seenAt) - nowMs))
  if (ahead > maxSkewMs)
    return clock.warning(`Another node's clock is ${durationText(ahead)} ahead of this one.`, advice)
  if (existsSync('/run/systemd/timesync') && !existsSync('/run/systemd/timesync/synchronized'))
    return clock.warning('systemd-timesyncd has not synchronised the clock since the machine started.', advice)
  const compared = newestEventMs === null ? 'there is no event to compare with' : 'the newest event is in the past'
  return clock.ok(`It is not behind: ${compared}, and no other node is ahead.`)
}

export function versionCheck(nodes: readonly Node[]): Check {
  const versions = checking('version')
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  const mine = `transferd ${version} on Node ${process.versions.node}`
  if (major < oldestNode[0] || (major === oldestNode[0] && minor < oldestNode[1]))
    return versions.failed(`${mine}.`, `Run it on Node ${oldestNode.join('.')} or later.`)
  const others = new Set(nodes.filter((node) => node.isAlive && node.version !== version).map((node) => node.version))
  if (others.size === 0) return versions.ok(`${mine}; no other version runs.`)
  const found = `${mine}; nodes of version ${[...others].join(', ')} also run.`
  return versions.warning(found, 'Finish the upgrade: docs/operating/upgrades.md.')
}

/** Checks that the service can use the tree in this directory, and how many minutes of events its last checkpoint does not cover. */
export async function auditCheck(
  directory: string,
  newestEventMs: number | null,
  open: () => Promise<{ readonly signer: NoteVerifier } | { readonly finding: Pick<Finding, 'place' | 'problem'> }>,
): Promise<Check> {
  const tree = checking('audit', directory)
  const problem = directoryProblem(directory)
  if (problem !== undefined) return tree.failed(problem, integrityRunbook)
  const opened = await open()
  if ('finding' in opened) return tree.failed(`${opened.finding.place}: ${opened.finding.problem}`, integrityRunbook)
  if (!(await signedCheckpoint(new DirectoryTiles(directory), opened.signer)))
    return tree.unknown('There is no checkpoint yet.')
  const { mtimeMs } = await stat(join(directory, checkpointPath))
  const behindMs = (newestEventMs ?? 0) - mtimeMs
  if (behindMs < unsignedMs) return tree.ok('A signed checkpoint covers the newest events.')
  const found = `No checkpoint covers the last ${durationText(behindMs)} of events.`
  return tree.warning(found, 'A running node signs every minute: check its log and the disk.')
}

/** Warns if no place elsewhere would show that an earlier state of this machine was put back. */
export async function auditCopyCheck(
  { audit: { copyTo, witnesses }, dataDirectory }: Pick<Configuration, 'audit' | 'dataDirectory'>,
  hasLiveMerchant: boolean,
): Promise<Check> {
  const copy = checking('audit-copy')
  const advice = 'Set AUDIT_COPY_TO to another disk or machine: docs/operating/tamper-evidence.md#a-copy-elsewhere.'
  if (witnesses.length > 0 || copyTo?.kind === 'url') return copy.ok('Checkpoints leave this machine.')
  if (copyTo) {
    const problem = directoryProblem(copyTo.directory)
    if (problem !== undefined) return copy.failed(problem, advice)
    const [there, here] = await Promise.all([diskOf(copyTo.directory), diskOf(dataDirectory)])
    if (there === undefined) return copy.warning(`${copyTo.directory} cannot be read.`, advice)
    if (there !== here) return copy.ok('Another disk has a copy.')
    return copy.warning('The copy is on the disk of the data directory, and would be put back with it.', advice)
  }
  if (!hasLiveMerchant) return copy.ok('A sandbox needs none.')
  return copy.warning('Nothing elsewhere would show that an earlier state of this machine was put back.', advice)
}

/** Returns the number of the disk of a file, or `undefined` if the file cannot be read. */
async function diskOf(path: string): Promise<number | undefined> {
  return (await stat(path).catch(() => undefined))?.dev
}

/** Checks the age of the last `transferd backup` on this machine. */
export async function backupCheck(dataDirectory: string, nowMs: number): Promise<Check> {
  const backup = checking('backup')
  const advice = 'Run transferd backup <target>: see docs/operating/backup.md.'
  const createdMs = await lastBackupMs(dataDirectory)
  if (createdMs === undefined) return backup.unknown('No command on this machine has created one.', advice)
  const found = `The last one was created ${durationText(nowMs - createdMs)} ago.`
  return nowMs - createdMs > backupOldMs ? backup.warning(found, advice) : backup.ok(found)
}

/** Returns the functions that create the result of a check of a subject. With `unknown`, the check cannot be decided here. */
export function checking(name: string, subject: string | null = null) {
  const found =
    (result: Check['result']) =>
    (text: string, advice: string | null = null): Check => ({ name, subject, result, found: text, advice })
  return { ok: found('ok'), warning: found('warning'), failed: found('failed'), unknown: found('unknown') }
}

/** Returns a duration in whole days, hours, minutes or seconds. */
export function durationText(ms: number): string {
  const units = Object.entries({ day: 86_400_000, hour: 3_600_000, minute: 60_000, second: 1_000 })
  const [unit, size] = units.find(([, each]) => Math.abs(ms) >= each) ?? ['second', 1_000]
  return counted(Math.trunc(Math.abs(ms) / size), unit)
}
