import { randomUUID } from 'node:crypto'
import type { Document, ReadModels } from '../../read-models/read-models.js'
import { type SecretBox, SecretBoxError } from '../../security/secret-box.js'
import { type Email, MessageNotSentError, type OutboxMessage, type Sender, type Sms } from '../messages.js'

const collectionName = 'outbox'
const kept = 200
/** The limit of deletions per message. Usually one is sufficient, because each message adds one document. */
const maxDeleted = 50

/** Keeps the sandbox's newest messages for every node to read. They are sealed, because they contain codes. */
export class Outbox implements Sender {
  #sequence = 0

  constructor(
    private readonly readModels: ReadModels,
    private readonly box: SecretBox,
    private readonly clock: () => string,
  ) {}

  sendSms({ to, code }: Sms): Promise<void> {
    return this.#put({ kind: 'sms', to, code, link: null, at: this.clock() })
  }

  sendEmail({ to, link }: Email): Promise<void> {
    return this.#put({ kind: 'email', to, code: null, link, at: this.clock() })
  }

  /** Returns the messages, newest first, without those that a different master key sealed. @throws ReadModelsUnavailableError */
  async list(): Promise<readonly OutboxMessage[]> {
    const documents = await this.readModels.collection(collectionName).find({}, { sort: { _id: -1 }, limit: kept })
    return documents.flatMap((document) => this.#opened(document) ?? [])
  }

  async #put(message: OutboxMessage): Promise<void> {
    // Keeps the order of messages from this process within a millisecond; between processes, that order is arbitrary.
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
      throw new MessageNotSentError(`the message could not be written to the outbox: ${(error as Error).name}`)
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

const owner = (id: string): string => `outbox:${id}`
