import { randomUUID } from 'node:crypto'
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
import type { Clock } from '../../kernel/clock.js'
import type { Refusal } from '../../kernel/rules.js'
import { addMs, minuteMs } from '../../kernel/time.js'
import { digestApiKey, generateApiKey, generateSecretKey, generateWebhookSecret } from '../../security/credentials.js'
import type { SecretBox } from '../../security/secret-box.js'
import { type CommandContext, handleCommand, loadStream, readHistory } from '../handle-command.js'
import { derivedEventId } from '../ids.js'

/** Credentials that are shown only once. */
export interface IssuedCredentials {
  readonly id: string
  readonly webApiKey: string
  readonly secretKey: string
  readonly webhookSecret: string
}

export type MerchantResult =
  | { readonly accepted: true; readonly merchant: Merchant; readonly changed: boolean }
  | { readonly accepted: false; readonly refusal: Refusal }

export type RotatingSecret = 'secretKey' | 'webhookSecret'

/** Returns the associated data of a sealed secret, which can be opened only for this merchant and purpose. */
export function secretOwner(merchantId: string, secret: RotatingSecret): string {
  return `merchant:${merchantId}:${secret}`
}

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
    const apiKeySha256 = digestApiKey(webApiKey)
    const register = { type: 'Register', merchantId: id, settings, apiKeySha256 } as const
    const result = await this.#execute(id, { ...register, ...sealed, at: this.clock() }, context)
    if (!result.accepted) throw new Error(`a new merchant was refused: ${result.refusal.rule}`)
    return { id, webApiKey, secretKey, webhookSecret }
  }

  /** Returns the current merchant from the log, or `undefined` if it does not exist. */
  async find(merchantId: string): Promise<Merchant | undefined> {
    const { state } = await loadStream(this.store, merchantDecider, merchantStream(merchantId))
    return state.merchantId === null ? undefined : state
  }

  changeSettings(
    merchantId: string,
    changes: Partial<MerchantSettings>,
    context: CommandContext,
  ): Promise<MerchantResult> {
    return this.#execute(merchantId, { type: 'ChangeSettings', changes, at: this.clock() }, context)
  }

  /** Creates an additional API key, which is shown only once. */
  async createApiKey(merchantId: string, key: Pick<ApiKey, 'name' | 'scopes' | 'validUntil'>, context: CommandContext) {
    const webApiKey = generateApiKey(merchantId)
    const sha256 = digestApiKey(webApiKey)
    const command = { type: 'CreateApiKey', sha256, ...key, at: this.clock() } as const
    const result = await this.#execute(merchantId, command, context)
    return result.accepted ? ({ accepted: true, webApiKey, sha256 } as const) : result
  }

  revokeApiKey(merchantId: string, keyId: string, context: CommandContext): Promise<MerchantResult> {
    return this.#execute(merchantId, { type: 'RevokeApiKey', keyId, at: this.clock() }, context)
  }

  /** Replaces the main key. The previous one stays valid for `overlapMinutes`; 0 revokes it immediately. */
  async rotateApiKey(merchantId: string, overlapMinutes: number, context: CommandContext) {
    const webApiKey = generateApiKey(merchantId)
    const apiKeySha256 = digestApiKey(webApiKey)
    const command = { type: 'RotateApiKey', apiKeySha256, ...this.#overlap(overlapMinutes) } as const
    const result = await this.#execute(merchantId, command, context)
    return result.accepted ? ({ accepted: true, webApiKey } as const) : result
  }

  /**
   * Replaces a secret. The previous one stays valid for `overlapMinutes`: requests with either are accepted, and callbacks carry both
   * signatures. A callback has only one HashCode, which uses the previous SecretKey until the merchant has used the new one.
   */
  async rotateSecret(merchantId: string, secret: RotatingSecret, overlapMinutes: number, context: CommandContext) {
    const value = secret === 'secretKey' ? generateSecretKey() : generateWebhookSecret()
    const sealed = this.box.seal(value, secretOwner(merchantId, secret))
    const overlap = this.#overlap(overlapMinutes)
    const command: MerchantCommand =
      secret === 'secretKey'
        ? { type: 'RotateSecretKey', secretKey: sealed, ...overlap }
        : { type: 'RotateWebhookSecret', webhookSecret: sealed, ...overlap }
    const result = await this.#execute(merchantId, command, context)
    return result.accepted ? ({ accepted: true, value } as const) : result
  }

  /** Records that the merchant has used the SecretKey with this number. */
  takeUpSecretKey(merchantId: string, number: number, context: CommandContext): Promise<MerchantResult> {
    return this.#execute(merchantId, { type: 'TakeUpSecretKey', number, at: this.clock() }, context)
  }

  /** Suspends a merchant, at most once for the purpose `onceFor`, even if the merchant was resumed since. */
  suspend(merchantId: string, context: CommandContext, onceFor?: string): Promise<MerchantResult> {
    const onceId = onceFor === undefined ? undefined : derivedEventId(merchantId, onceFor)
    return this.#execute(merchantId, { type: 'Suspend', at: this.clock() }, context, onceId)
  }

  /** Returns the actor that registered the merchant, or `undefined` for an unknown merchant. */
  async registeredBy(merchantId: string): Promise<string | undefined> {
    const [registered] = await readHistory<MerchantEvent>(this.store, merchantStream(merchantId))
    return registered?.metadata.actor
  }

  resume(merchantId: string, context: CommandContext): Promise<MerchantResult> {
    return this.#execute(merchantId, { type: 'Resume', at: this.clock() }, context)
  }

  disableCallbacks(merchantId: string, reason: string, context: CommandContext): Promise<MerchantResult> {
    return this.#execute(merchantId, { type: 'DisableCallbacks', reason, at: this.clock() }, context)
  }

  enableCallbacks(merchantId: string, context: CommandContext): Promise<MerchantResult> {
    return this.#execute(merchantId, { type: 'EnableCallbacks', at: this.clock() }, context)
  }

  #overlap(minutes: number) {
    const at = this.clock()
    return { at, previousValidUntil: addMs(at, minutes * minuteMs) }
  }

  async #execute(
    merchantId: string,
    command: MerchantCommand,
    context: CommandContext,
    onceId?: string,
  ): Promise<MerchantResult> {
    const stream = merchantStream(merchantId)
    const result = await handleCommand(this.store, merchantDecider, stream, command, context, { onceId })
    if (!result.accepted) return result
    if (result.state.merchantId === null) throw new Error('an accepted command left no merchant')
    return { accepted: true, merchant: result.state, changed: result.events.length > 0 }
  }
}

/** Records that a merchant has started to use a newer SecretKey. From then on callbacks are hashed with that key. */
export class SecretKeyUse {
  readonly #recording = new Map<string, Promise<void>>()

  constructor(
    private readonly commands: Pick<MerchantCommands, 'takeUpSecretKey'>,
    private readonly clock: Clock,
  ) {}

  /** Returns whether the merchant has a newer SecretKey that it has not used yet. */
  matters(merchant: Merchant): boolean {
    const [current, ...earlier] = merchant.secretKeys.all
    return earlier.length > 0 && callbackSecretKey(merchant.secretKeys, this.clock()) !== current
  }

  /**
   * Records the use of the SecretKey with this number, if it is newer. Resolves afterwards, so that the callbacks of the transfer that
   * the request creates are hashed with this key. @throws StoreUnavailableError, TooMuchContentionError
   */
  async seen({ merchantId, secretKeys }: Merchant, number: number, context: CommandContext): Promise<void> {
    if (callbackSecretKey(secretKeys, this.clock()).number >= number) return
    const id = `${merchantId}:${number}`
    const recording =
      this.#recording.get(id) ?? this.#record(merchantId, number, context).finally(() => this.#recording.delete(id))
    this.#recording.set(id, recording)
    await recording
  }

  async #record(merchantId: string, number: number, context: CommandContext): Promise<void> {
    const result = await this.commands.takeUpSecretKey(merchantId, number, context)
    if (!result.accepted) throw new Error(`the use of a SecretKey was not recorded: ${result.refusal.rule}`)
  }
}
