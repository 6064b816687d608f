import { randomUUID } from 'node:crypto'
import type { Refused } from '../../domain/decider.js'
import type { ApiKey } from '../../domain/merchant/api-key.js'
import {
  callbackSecretKey,
  type Merchant,
  type MerchantCommand,
  merchantDecider,
} from '../../domain/merchant/merchant.js'
import type { MerchantEvent, MerchantSettings } from '../../domain/merchant/merchant-events.js'
import { merchantStream } from '../../domain/streams.js'
import type { EventStore } from '../../event-store/event-store.js'
import { addMs, type Clock, minuteMs } from '../../kernel/time.js'
import { digestApiKey, generateApiKey, generateSecretKey, generateWebhookSecret } from '../../security/api-keys.js'
import type { SecretBox } from '../../security/secret-box.js'
import { type CommandContext, handleCommand, loadStream, onSeen, readHistory, type Untimed } from '../handle-command.js'
import { derivedEventId } from '../ids.js'

/** Credentials that are shown only once. */
export interface IssuedCredentials {
  readonly id: string
  readonly webApiKey: string
  readonly secretKey: string
  readonly webhookSecret: string
}

export type MerchantResult =
  | { readonly accepted: true; readonly merchant: Merchant; readonly revision: number; readonly changed: boolean }
  | Refused

export type RotatingSecret = 'secretKey' | 'webhookSecret'

/** Returns the associated data of a sealed secret, which can be opened only for this merchant and purpose. */
export const secretOwner = (merchantId: string, secret: RotatingSecret): string => `merchant:${merchantId}:${secret}`

/** Runs every command on merchants. Each method may throw StoreUnavailableError or TooMuchContentionError. */
export class MerchantCommands {
  constructor(
    private readonly store: EventStore,
    private readonly clock: Clock,
    private readonly box: SecretBox,
  ) {}

  async register(settings: MerchantSettings, context: CommandContext): Promise<IssuedCredentials> {
    const id = randomUUID()
    const webApiKey = generateApiKey(id)
    const secretKey = generateSecretKey()
    const webhookSecret = generateWebhookSecret()
    const sealed = {
      secretKey: this.box.seal(secretKey, secretOwner(id, 'secretKey')),
      webhookSecret: this.box.seal(webhookSecret, secretOwner(id, 'webhookSecret')),
    }
    const command = {
      type: 'Register',
      merchantId: id,
      settings,
      apiKeySha256: digestApiKey(webApiKey),
      ...sealed,
    } as const
    const result = await this.execute(id, command, context)
    if (!result.accepted) throw new Error(`a new merchant was refused: ${result.refusal.rule}`)
    return { id, webApiKey, secretKey, webhookSecret }
  }

  async find(merchantId: string): Promise<Merchant | undefined> {
    const { state } = await loadStream(this.store, merchantDecider, merchantStream(merchantId))
    return state.merchantId === null ? undefined : state
  }

  async createApiKey(
    merchantId: string,
    { name, scopes, validUntil }: Pick<ApiKey, 'name' | 'scopes' | 'validUntil'>,
    context: CommandContext,
  ) {
    const webApiKey = generateApiKey(merchantId)
    const sha256 = digestApiKey(webApiKey)
    const command = { type: 'CreateApiKey', apiKeySha256: sha256, name, scopes, validUntil } as const
    const result = await this.execute(merchantId, command, context)
    return result.accepted ? ({ accepted: true, webApiKey, sha256 } as const) : result
  }

  /** Replaces the main key. The previous one stays valid for `overlapMinutes`; 0 revokes it immediately. */
  async rotateApiKey(merchantId: string, overlapMinutes: number, context: CommandContext) {
    const webApiKey = generateApiKey(merchantId)
    const rotation = { apiKeySha256: digestApiKey(webApiKey), previousValidUntil: this.#after(overlapMinutes) }
    const result = await this.execute(merchantId, { type: 'RotateApiKey', ...rotation }, context)
    return result.accepted ? ({ accepted: true, webApiKey } as const) : result
  }

  /** Replaces a secret. The previous one stays valid for `overlapMinutes`, and callbacks carry both signatures ({@link callbackSecretKey}). */
  async rotateSecret(merchantId: string, secret: RotatingSecret, overlapMinutes: number, context: CommandContext) {
    const value = secret === 'secretKey' ? generateSecretKey() : generateWebhookSecret()
    const sealed = this.box.seal(value, secretOwner(merchantId, secret))
    const previousValidUntil = this.#after(overlapMinutes)
    const command: Untimed<MerchantCommand> =
      secret === 'secretKey'
        ? { type: 'RotateSecretKey', secretKey: sealed, previousValidUntil }
        : { type: 'RotateWebhookSecret', webhookSecret: sealed, previousValidUntil }
    const result = await this.execute(merchantId, command, context)
    return result.accepted ? ({ accepted: true, value } as const) : result
  }

  /** Suspends a merchant, at most once for the purpose `onceFor`, even if the merchant was resumed since. */
  suspend(merchantId: string, context: CommandContext, onceFor?: string): Promise<MerchantResult> {
    const onceId = onceFor === undefined ? undefined : derivedEventId(merchantId, onceFor)
    return this.execute(merchantId, { type: 'Suspend' }, context, { onceId })
  }

  /** Returns the actor that registered the merchant, or `undefined` for an unknown merchant. */
  async registeredBy(merchantId: string): Promise<string | undefined> {
    const [registered] = await readHistory<MerchantEvent>(this.store, merchantStream(merchantId))
    return registered?.metadata.actor
  }

  /** Runs a command that is complete apart from its time. It is refused if the merchant has changed since `revision`, if that is given. */
  async execute(
    merchantId: string,
    command: Untimed<MerchantCommand>,
    context: CommandContext,
    { revision: seen, onceId }: { readonly revision?: number | undefined; readonly onceId?: string | undefined } = {},
  ): Promise<MerchantResult> {
    const stream = merchantStream(merchantId)
    const timed = { ...command, at: this.clock() }
    const options = { onceId, ...onSeen(stream, seen, context, command) }
    const result = await handleCommand(this.store, merchantDecider, stream, timed, context, options)
    if (!result.accepted) return result
    const { state: merchant, revision, events } = result
    if (merchant.merchantId === null || revision === 'no_stream')
      throw new Error('an accepted command left no merchant')
    return { accepted: true, merchant, revision, changed: events.length > 0 }
  }

  #after(minutes: number): string {
    return addMs(this.clock(), minutes * minuteMs)
  }
}

/** Records that a merchant has started to use a newer SecretKey. From then on callbacks are hashed with that key. */
export class SecretKeyUse {
  readonly #recording = new Map<string, Promise<void>>()

  constructor(
    private readonly commands: Pick<MerchantCommands, 'execute'>,
    private readonly clock: Clock,
  ) {}

  /** Returns whether the merchant has a newer SecretKey that it has not used yet. */
  matters(merchant: Merchant): boolean {
    const [current, ...earlier] = merchant.secretKeys.all
    return earlier.length > 0 && callbackSecretKey(merchant.secretKeys, this.clock()) !== current
  }

  /** Records the use of a newer SecretKey before a transfer is created with it. @throws StoreUnavailableError, TooMuchContentionError */
  async seen({ merchantId, secretKeys }: Merchant, number: number, context: CommandContext): Promise<void> {
    if (callbackSecretKey(secretKeys, this.clock()).number >= number) return
    const id = `${merchantId}:${number}`
    const recording =
      this.#recording.get(id) ?? this.#record(merchantId, number, context).finally(() => this.#recording.delete(id))
    this.#recording.set(id, recording)
    await recording
  }

  async #record(merchantId: string, number: number, context: CommandContext): Promise<void> {
    const result = await this.commands.execute(merchantId, { type: 'TakeUpSecretKey', number }, context)
    if (!result.accepted) throw new Error(`the use of a SecretKey was not recorded: ${result.refusal.rule}`)
  }
}
