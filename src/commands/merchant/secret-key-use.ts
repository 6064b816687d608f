import type { Merchant } from '../../domain/merchant/merchant.js'
import { callbackSecretKey } from '../../domain/merchant/secret-keys.js'
import type { Clock } from '../../kernel/clock.js'
import type { CommandContext } from '../handle-command.js'
import type { MerchantCommands } from './merchant-commands.js'

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
