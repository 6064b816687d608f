import type { Finding } from '../../domain/integrity.js'
import { collections } from '../../read-models/documents.js'
import type { Document, ReadModels } from '../../read-models/read-models.js'

/** A verification, in progress or finished. */
export interface VerificationStatus {
  /** `start` verifies the newest part. `rest` verifies everything, slowly. `requested` verifies everything on request. */
  readonly occasion: 'start' | 'rest' | 'requested'
  readonly startedAt: string
  readonly finishedAt: string | null
  readonly verified: number
  readonly treeSize: number
  readonly findings: readonly Finding[]
}

/** The status that the holder of the tree publishes, so that every node shows the same. */
export interface IntegrityStatus {
  readonly note: string | null
  readonly signedAt: string | null
  readonly verifierKey: string | null
  readonly witnesses: readonly string[]
  /** Newest first. */
  readonly verifications: readonly VerificationStatus[]
  readonly problems: readonly string[]
}

/** A verification of the whole log, saved with its progress so that it continues after a restart or on another node. */
export interface Round extends Pick<VerificationStatus, 'startedAt' | 'verified'> {
  readonly occasion: 'rest' | 'requested'
  /** The time of the last request before the start, or '' before the first request. */
  readonly request: string
  readonly isDone: boolean
}

const statusId = 'tree-status'
const roundId = 'verification'
const requestId = 'requested'
const checkpointId = 'checkpoint'

/** Returns `undefined` before the first checkpoint. @throws ReadModelsUnavailableError */
export async function integrityStatus(readModels: ReadModels): Promise<IntegrityStatus | undefined> {
  return (await find<{ readonly status: IntegrityStatus }>(readModels, statusId))?.status
}

/** @throws ReadModelsUnavailableError */
export function saveIntegrityStatus(readModels: ReadModels, status: IntegrityStatus): Promise<void> {
  return save(readModels, { _id: statusId, status })
}

/** Requests a complete verification from the holder of the tree. @throws ReadModelsUnavailableError */
export function requestVerification(readModels: ReadModels, at: string): Promise<void> {
  return save(readModels, { _id: requestId, at })
}

/** Returns the time of the last request. @throws ReadModelsUnavailableError */
export async function verificationRequestedAt(readModels: ReadModels): Promise<string | undefined> {
  return (await find<{ readonly at: string }>(readModels, requestId))?.at
}

/** @throws ReadModelsUnavailableError */
export function saveRound(readModels: ReadModels, round: Round, mac: (text: string) => string): Promise<void> {
  const text = JSON.stringify(round)
  return save(readModels, { _id: roundId, text, mac: mac(text) })
}

/** Returns `undefined` also for a forged one, which would spare a part of the log from verification. @throws ReadModelsUnavailableError */
export async function savedRound(readModels: ReadModels, mac: (text: string) => string): Promise<Round | undefined> {
  const found = await find<{ readonly text: string; readonly mac: string }>(readModels, roundId)
  return found && mac(found.text) === found.mac ? JSON.parse(found.text) : undefined
}

/** Returns the newest checkpoint that the read models keep. @throws ReadModelsUnavailableError */
export async function keptCheckpoint(readModels: ReadModels): Promise<string | undefined> {
  return (await find<{ readonly text: string }>(readModels, checkpointId))?.text
}

/** @throws ReadModelsUnavailableError */
export function keepCheckpoint(readModels: ReadModels, text: string): Promise<void> {
  return save(readModels, { _id: checkpointId, text })
}

async function find<Found>(readModels: ReadModels, _id: string): Promise<(Document & Found) | null> {
  return (await readModels.collection(collections.integrity).findOne({ _id })) as (Document & Found) | null
}

async function save(readModels: ReadModels, replacement: Document & { readonly _id: string }): Promise<void> {
  const filter = { _id: replacement._id }
  const collection = readModels.collection(collections.integrity)
  await collection.bulkWrite([{ replaceOne: { filter, replacement, upsert: true } }])
}
