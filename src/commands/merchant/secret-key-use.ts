import type { Merchant } from '../../domain/merchant/merchant.js'
import { callbackSecretKey } from '../../domain/merchant/secret-keys.js'
import type { Clock } from '../../kernel/clock.js'
import type { CommandContext } from '../handle-command.js'
import type { MerchantCommands } from './merchant-commands.js'

/** Records that a merchant has begun to use a newer SecretKey: from then on callbacks are hashed with that one. */
export class SecretKeyUse {
  readonly #underWay = new Map<string, Promise<void>>()

  constructor(
    private readonly commands: Pick<MerchantCommands, 'takeUpSecretKey'>,
    private readonly clock: Clock,
  ) {}

  /** Whether it matters which SecretKey a request of the merchant is made with. */
  matters(merchant: Merchant): boolean {
    const [current, ...earlier] = merchant.secretKeys.all
    return earlier.length > 0 && callbackSecretKey(merchant.secretKeys, this.clock()) !== current
  }

  /**
   * A request was made with the SecretKey of this number. Resolves once that is recorded, if it was news: a callback for what
   * the request creates is hashed with it already. @throws StoreUnavailableError, TooMuchContentionError
   */
  async seen({ merchantId, secretKeys }: Merchant, number: number, context: CommandContext): Promise<void> {
    if (callbackSecretKey(secretKeys, this.clock()).number >= number) return
    const news = `${merchantId}:${number}`
    let recording = this.#underWay.get(news)
    if (!recording) {
      recording = this.#record(merchantId, number, context).finally(() => this.#underWay.delete(news))
      this.#underWay.set(news, recording)
    }
    await recording
  }

  async #record(merchantId: string, number: number, context: CommandContext): Promise<void> {
    const result = await this.commands.takeUpSecretKey(merchantId, number, context)
    if (!result.accepted) throw new Error(`a SecretKey was not taken up: ${result.refusal.rule}`)
  }
}
