import { createHash } from 'node:crypto'
import { collections, indexes } from './documents.js'
import { type Document, DuplicateKeyError, type Filter, type ReadModels } from './read-models.js'

/** The allowed types by their first bytes in hexadecimal, because the sender's file name and type cannot be trusted. WebP states its length within them. */
const signatures = {
  'application/pdf': /^255044462d/,
  'image/png': /^89504e470d0a1a0a/,
  'image/jpeg': /^ffd8ff/,
  'image/webp': /^52494646.{8}57454250/,
} as const

export type ReceiptType = keyof typeof signatures
const storedTypes = Object.keys(signatures) as ReceiptType[]

/** `_id` is the SHA-256 of the bytes, hexadecimal. */
interface ReceiptDocument extends Document {
  readonly type: ReceiptType
  readonly base64: string
  readonly storedAt: string
}

/** Stores a file once under its digest, and again if the stored one is damaged. Returns `undefined` if its type is not one of `types`. @throws ReadModelsUnavailableError */
export async function storeReceipt(
  readModels: ReadModels,
  bytes: Buffer,
  at: string,
  types: readonly ReceiptType[] = storedTypes,
): Promise<string | undefined> {
  const type = typeOf(bytes)
  if (!type || !types.includes(type)) return undefined
  const sha256 = digestOf(bytes)
  const document: ReceiptDocument = { _id: sha256, type, base64: bytes.toString('base64'), storedAt: at }
  await readModels.createIndexes(collections.receipts, indexes.receipts)
  const collection = readModels.collection(collections.receipts)
  try {
    await collection.bulkWrite([{ insertOne: { document } }])
  } catch (error) {
    if (!(error instanceof DuplicateKeyError)) throw error
    const stored = (await collection.findOne({ _id: sha256 })) as ReceiptDocument | null
    if (stored && contentOf(stored)) return sha256
    await collection.bulkWrite([{ replaceOne: { filter: { _id: sha256 }, replacement: document, upsert: true } }])
  }
  return sha256
}

/** Returns `'damaged'` if the stored bytes are not those of the digest. @throws ReadModelsUnavailableError */
export async function findReceipt(readModels: ReadModels, sha256: string) {
  const found = (await readModels.collection(collections.receipts).findOne({ _id: sha256 })) as ReceiptDocument | null
  return found ? (contentOf(found) ?? 'damaged') : undefined
}

/** @throws ReadModelsUnavailableError */
export async function hasReceipt(readModels: ReadModels, _id: string): Promise<boolean> {
  return (await readModels.collection(collections.receipts).countDocuments({ _id }, { limit: 1 })) > 0
}

/** Returns `undefined` unless the bytes have the digest. Believes nothing else of a document, because anyone may have written it. */
function contentOf({ _id, base64 }: ReceiptDocument) {
  const bytes = Buffer.from(String(base64), 'base64')
  const type = typeOf(bytes)
  return type && digestOf(bytes) === _id ? { type, bytes } : undefined
}

function typeOf(bytes: Buffer): ReceiptType | undefined {
  return storedTypes.find((each) => signatures[each].test(bytes.toString('hex', 0, 12)))
}

function digestOf(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex')
}

/** Yields every receipt, oldest first. @throws ReadModelsUnavailableError */
export async function* receiptsByAge(readModels: ReadModels) {
  if (!(await readModels.listCollections()).includes(collections.receipts)) return
  let after: Filter = {}
  for (;;) {
    const sort = { storedAt: 1, _id: 1 } as const
    const next = (await readModels.collection(collections.receipts).findOne(after, { sort })) as ReceiptDocument | null
    if (!next) return
    yield next
    const { _id, storedAt } = next
    after = { $or: [{ storedAt: { $gt: storedAt } }, { storedAt, _id: { $gt: _id } }] }
  }
}

/** Returns the read models with the receipts of other ones, which it also closes. */
export function withReceipts(readModels: ReadModels, other: ReadModels): ReadModels {
  const of = (name: string) => (name === collections.receipts ? other : readModels)
  return {
    collection: (name) => of(name).collection(name),
    createIndexes: (name, indexes) => of(name).createIndexes(name, indexes),
    createUnfilled: (name, indexes) => of(name).createUnfilled(name, indexes),
    rename: (from, to) => readModels.rename(from, to),
    drop: (name) => of(name).drop(name),
    listCollections: async () => [...(await readModels.listCollections()), ...(await other.listCollections())],
    close: async () => void (await Promise.all([readModels.close(), other.close()])),
  }
}
