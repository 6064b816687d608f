import type { Document, ReadModels } from './read-models.js'

const collection = 'endpoint_attempts'
const maxAttempts = 60

interface EndpointAttempt {
  readonly at: string
  readonly webhookId: string
  readonly trackingId: string
  readonly referenceId: string
  /** The reported status, 1 to 5. */
  readonly transferStatus: number
  /** Null without a response. */
  readonly httpStatus: number | null
  readonly durationMs: number
  /** Why it failed, or null. */
  readonly failure: string | null
  /** The start of the body of a failed response. */
  readonly body?: string
}

/** The latest attempts to one endpoint, oldest first; `_id` is the merchantId. Users read it, and no delivery depends on it. */
interface EndpointAttemptsDocument extends Document {
  readonly attempts: readonly EndpointAttempt[]
  /** The first failed attempt since the last success, while the endpoint fails. */
  readonly failingSince?: string
}

/** Keeps the latest attempts in memory until they are written, so that a busy endpoint costs one small write per second instead of one per attempt. */
export class EndpointAttempts {
  #noted = new Map<string, EndpointAttempt[]>()

  constructor(private readonly readModels: ReadModels) {}

  note(merchantId: string, attempt: EndpointAttempt): void {
    const noted = [...(this.#noted.get(merchantId) ?? []), attempt]
    this.#noted.set(merchantId, noted.slice(-maxAttempts))
  }

  /** Writes the noted attempts. They are lost if that fails. @throws ReadModelsUnavailableError */
  async flush(): Promise<void> {
    if (this.#noted.size === 0) return
    const noted = this.#noted
    this.#noted = new Map()
    await this.readModels.createUnfilled(collection, [])
    for (const [_id, attempts] of noted) {
      const known = (await this.readModels.collection(collection).findOne({ _id })) as EndpointAttemptsDocument | null
      let document: EndpointAttemptsDocument = known ?? { _id, attempts: [] }
      for (const attempt of attempts) document = after(document, attempt)
      await this.readModels
        .collection(collection)
        .bulkWrite([{ replaceOne: { filter: { _id }, replacement: document, upsert: true } }])
    }
  }
}

function after({ _id, failingSince, attempts: before }: EndpointAttemptsDocument, attempt: EndpointAttempt) {
  const attempts = [...before, attempt].slice(-maxAttempts)
  return attempt.failure === null ? { _id, attempts } : { _id, attempts, failingSince: failingSince ?? attempt.at }
}

/** Returns the attempts to an endpoint, or `undefined` before the first one. @throws ReadModelsUnavailableError */
export async function attemptsOf(readModels: ReadModels, merchantId: string) {
  return ((await readModels.collection(collection).findOne({ _id: merchantId })) ?? undefined) as
    | EndpointAttemptsDocument
    | undefined
}
