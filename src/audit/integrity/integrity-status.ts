import type { Finding } from '../../domain/integrity/integrity.js'
import { collections } from '../../read-models/documents.js'
import type { Document, ReadModels } from '../../read-models/read-models.js'

/** A verification, under way or done. */
export interface VerificationStatus {
  /** `start`: the newest part only. `rest`: the whole, slowly. `asked`: the whole, because somebody asked. */
  readonly occasion: 'start' | 'rest' | 'asked'
  readonly startedAt: string
  readonly finishedAt: string | null
  readonly verified: number
  readonly treeSize: number
  readonly findings: readonly Finding[]
}

/** What the holder of the tree tells of it: every node shows the same. */
export interface IntegrityStatus {
  readonly note: string | null
  readonly signedAt: string | null
  readonly verifierKey: string | null
  readonly witnesses: readonly string[]
  /** The newest first. */
  readonly verifications: readonly VerificationStatus[]
  readonly troubles: readonly string[]
}

interface StatusDocument extends Document {
  readonly status: IntegrityStatus
}

interface AskedDocument extends Document {
  readonly at: string
}

const statusId = 'status'
const askedId = 'asked'

/** Undefined before the first checkpoint. @throws ReadModelsUnavailableError */
export async function integrityStatus(readModels: ReadModels): Promise<IntegrityStatus | undefined> {
  const found = (await readModels.collection(collections.integrity).findOne({ _id: statusId })) as StatusDocument | null
  return found?.status
}

/** @throws ReadModelsUnavailableError */
export async function keepIntegrityStatus(readModels: ReadModels, status: IntegrityStatus): Promise<void> {
  const replacement: StatusDocument = { _id: statusId, status }
  const collection = readModels.collection(collections.integrity)
  await collection.bulkWrite([{ replaceOne: { filter: { _id: statusId }, replacement, upsert: true } }])
}

/** Has whoever holds the tree verify all of it. @throws ReadModelsUnavailableError */
export async function askToVerify(readModels: ReadModels, at: string): Promise<void> {
  const replacement: AskedDocument = { _id: askedId, at }
  const collection = readModels.collection(collections.integrity)
  await collection.bulkWrite([{ replaceOne: { filter: { _id: askedId }, replacement, upsert: true } }])
}

/** When somebody asked last. @throws ReadModelsUnavailableError */
export async function askedToVerify(readModels: ReadModels): Promise<string | undefined> {
  const found = (await readModels.collection(collections.integrity).findOne({ _id: askedId })) as AskedDocument | null
  return found?.at
}
