import { randomUUID } from 'node:crypto'
import type { Document, ReadModels } from '../../read-models/read-models.js'
import { type SecretBox, SecretBoxError } from '../../security/secret-box.js'
import { MessageNotSentError, type OutboxMessage, type Sender } from '../messages.js'

const collectionName = 'outbox'
const kept = 200
/** Deleted at once, at most: with every message one more is there than was kept. */
const maxDeleted = 50

/**
 * The sandbox's messages, sent to nobody but whoever may look at them: the newest 200, sealed, as a code on disk could be
 * used by who reads the disk. They are where the read models are, so every node and the command line see the same ones.
 */
export class Outbox implements Sender {
  #sequence = 0

  constructor(
    private readonly readModels: ReadModels,
    private readonly box: SecretBox,
    private readonly clock: () => string,
  ) {}

  async sendSms({ to, code }: Parameters<Sender['sendSms']>[0]): Promise<void> {
    await this.#put({ kind: 'sms', to, code, link: null, at: this.clock() })
  }

  async sendEmail({ to, link }: Parameters<Sender['sendEmail']>[0]): Promise<void> {
    await this.#put({ kind: 'email', to, code: null, link, at: this.clock() })
  }

  /** Newest first. Those sealed with another master key are left out. @throws ReadModelsUnavailableError */
  async list(): Promise<readonly OutboxMessage[]> {
    const documents = await this.readModels.collection(collectionName).find({}, { sort: { _id: -1 }, limit: kept })
    return documents.flatMap((document) => this.#opened(document) ?? [])
  }

  async #put(message: OutboxMessage): Promise<void> {
    // Two of the same millisecond keep their order; those of other processes fall where they fall.
    this.#sequence = (this.#sequence + 1) % 1_000_000
    const _id = `${message.at}|${String(this.#sequence).padStart(6, '0')}|${randomUUID()}`
    const sealed = this.box.seal(JSON.stringify(message), owner(_id))
    try {
      const outbox = this.readModels.collection(collectionName)
      await outbox.bulkWrite([{ insertOne: { document: { _id, sealed } } }])
      const surplus = Math.min((await outbox.countDocuments({})) - kept, maxDeleted)
      if (surplus <= 0) return
      const oldest = await outbox.find({}, { sort: { _id: 1 }, limit: surplus })
      await outbox.bulkWrite(oldest.map(({ _id }) => ({ deleteOne: { filter: { _id } } })))
    } catch (error) {
      throw new MessageNotSentError(`the outbox could not be written: ${(error as Error).name}`)
    }
  }

  #opened({ _id, sealed }: Document): OutboxMessage | undefined {
    try {
      return JSON.parse(this.box.open(String(sealed), owner(_id))) as OutboxMessage
    } catch (error) {
      if (error instanceof SecretBoxError) return undefined
      throw error
    }
  }
}

function owner(id: string): string {
  return `outbox:${id}`
}
