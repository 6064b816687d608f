import type { FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import type { CommandContext } from '../../commands/handle-command.js'
import type { MerchantDirectory } from '../../commands/merchant/merchant-directory.js'
import { violate } from '../../domain/decider.js'
import type { Scope } from '../../domain/merchant/api-key.js'
import type { Merchant } from '../../domain/merchant/merchant.js'
import type { Clock } from '../../kernel/time.js'
import { merchantIdOfApiKey } from '../../security/api-keys.js'
import { bucketOf, TokenBuckets } from '../../security/token-buckets.js'
import { RequestError } from '../refusals.js'
import type { HttpServices } from '../services.js'
import { isSignatureValid } from './request-signature.js'

declare module 'fastify' {
  interface FastifyInstance {
    readonly gate: Gate
  }
  interface FastifyRequest {
    /** The merchant of the request, or null while it is unknown. */
    merchant: Merchant | null
  }
  interface FastifyContextConfig {
    /** The scope that the WebApiKey needs, if the route takes one. */
    readonly scope?: Scope
  }
}

interface Rate {
  readonly perSecond: number
  readonly burst: number
}

/** Guesses of keys per address: a burst of five, then one every twelve seconds. */
const guesses: Rate = { perSecond: 5 / 60, burst: 5 }
/** Failures without a merchant, and pages for customers, per address. */
const anonymous: Rate = { perSecond: 100, burst: 500 }
/** Polls of one transfer; the burst allows for a poll that overtakes the previous one. */
const freePolls: Rate = { perSecond: 1, burst: 2 }
/** Health, metrics and the documentation, per address, because they are expensive. */
const observations: Rate = { perSecond: 20, burst: 200 }
/** Resent callbacks of a sandbox merchant. Each is an event, and one request resends up to 1,000. */
const replays: Rate = { perSecond: 20, burst: 1_000 }
const merchantBurstSeconds = 5
const maxKeys = 100_000

/** Decides which callers are allowed, and how often. */
class Gate {
  readonly #directory: MerchantDirectory
  readonly #nowMs: () => number
  readonly #clock: Clock
  readonly #merchants: TokenBuckets
  readonly #polls: TokenBuckets
  /** Counts resent callbacks of a sandbox merchant. Returns 0, or the seconds until they are allowed, and then counts none. */
  readonly takeReplays: (merchantId: string, count: number) => number
  /** Counts a request without a merchant. @throws RequestError if the address has made too many */
  readonly chargeAddress: (request: FastifyRequest) => void
  /** @throws RequestError if the address has guessed too often */
  readonly chargeGuess: (request: FastifyRequest) => void

  constructor({ directory, monotonicMs, clock }: HttpServices) {
    this.#directory = directory
    this.#clock = clock
    this.#nowMs = monotonicMs
    this.#merchants = new TokenBuckets(monotonicMs, maxKeys)
    this.#polls = new TokenBuckets(monotonicMs, maxKeys)
    const resent = new TokenBuckets(monotonicMs, maxKeys)
    this.takeReplays = (merchantId, count) => resent.take(merchantId, replays.perSecond, replays.burst, count)
    this.chargeAddress = this.limitEach(anonymous)
    this.chargeGuess = this.limitEach(guesses)
  }

  /** Returns a function with a separate count of requests by address. It throws RequestError if there are too many. */
  limitEach({ perSecond, burst }: Rate): (request: FastifyRequest) => void {
    const buckets = new TokenBuckets(this.#nowMs, maxKeys)
    return (request) => refuse(buckets.take(bucketOf(request.ip), perSecond, burst))
  }

  /** For routes of operators, with a separate count: readers of the documentation must not make health probes fail. */
  limitObserver(): (request: FastifyRequest) => Promise<void> {
    const charge = this.limitEach(observations)
    return async (request) => charge(request)
  }

  /**
   * Requires a valid WebApiKey with this scope from an allowed address. It runs before the body is read, so that unknown callers cost
   * little. `isOptional`: without a key, the handler finds the merchant. `isCounted: false`: the handler must call {@link chargePoll}.
   * A request that can change something must also have the signature that the merchant's settings require, unless
   * `isSignatureChecked` is false: then the handler must check it with {@link isSigned}.
   */
  requireKey(scope: Scope, { isOptional = false, isCounted = true, isSignatureChecked = true } = {}) {
    const onRequest = async (request: FastifyRequest) => {
      if (!isOptional || request.headers.webapikey !== undefined) await this.#identify(request, scope, isCounted)
    }
    const preHandler = async (request: FastifyRequest) => {
      const merchant = request.merchant!
      if (isRead(request) || this.isSigned(request, merchant, merchant.settings.requireSignature === 'all')) return
      if (!isCounted) this.#charge(merchant)
      throw new RequestError('signature-mismatch')
    }
    return { onRequest, config: { scope }, ...(isSignatureChecked && { preHandler }) }
  }

  /** Returns whether the X-Signature of a request is valid, or is missing and not required. */
  isSigned(request: FastifyRequest, merchant: Merchant, isRequired: boolean): boolean {
    if (request.headers['x-signature'] === undefined) return !isRequired
    return isSignatureValid(request, this.#directory.secrets(merchant, 'secretKey'), Date.parse(this.#clock()))
  }

  /** Assigns the request to the merchant. @throws RequestError if the merchant is not allowed to call, or calls too often */
  admit(request: FastifyRequest, merchant: Merchant): void {
    this.#allow(request, merchant)
    this.#charge(merchant)
  }

  /**
   * Counts a poll against the merchant, unless it polls an existing subject at most once per second.
   * `subject`: the polled transfer, or `undefined` if it does not exist. @throws RequestError
   */
  chargePoll(request: FastifyRequest, subject: string | undefined): void {
    if (subject !== undefined && this.#polls.take(subject, freePolls.perSecond, freePolls.burst) === 0) return
    this.#charge(request.merchant!)
  }

  /** Returns whether a request with a WebApiKey would still be allowed, for a response that lasts. */
  isStillAllowed({ headers: { webapikey: key }, ip }: FastifyRequest, scope: Scope): boolean {
    const owner = typeof key === 'string' ? this.#directory.byApiKey(key) : undefined
    if (!owner || owner.merchant.suspended || !owner.key.scopes.includes(scope)) return false
    return this.#directory.allowsAddress(owner.merchant.merchantId, ip)
  }

  #allow(request: FastifyRequest, merchant: Merchant): void {
    if (merchant.suspended) throw new RequestError('merchant-suspended')
    if (!this.#directory.allowsAddress(merchant.merchantId, request.ip)) throw new RequestError('address-not-allowed')
    request.merchant = merchant
  }

  #charge({ merchantId, settings: { rateLimitPerSecond: perSecond } }: Merchant): void {
    refuse(this.#merchants.take(merchantId, perSecond, perSecond * merchantBurstSeconds))
  }

  async #identify(request: FastifyRequest, scope: Scope, isCounted: boolean): Promise<void> {
    const key = request.headers.webapikey
    const find = () => (typeof key === 'string' ? this.#directory.byApiKey(key) : undefined)
    let owner = find()
    if (!owner && key !== undefined) {
      // Another process or node may have issued it just now.
      await this.#directory.catchUp()
      owner = find()
    }
    if (!owner) throw this.#unknownKey(request, key)
    this.#allow(request, owner.merchant)
    const mayUse = owner.key.scopes.includes(scope)
    if (isCounted || !mayUse) this.#charge(owner.merchant)
    if (!mayUse) throw new RequestError('scope-missing', { violation: violate('scope-missing', { scope }) })
  }

  /** The keys of a merchant that is out of service cannot be checked, so none is called wrong. @throws RequestError */
  #unknownKey(request: FastifyRequest, key: string | string[] | undefined): Error {
    const problem = this.#directory.problemOf((typeof key === 'string' && merchantIdOfApiKey(key)) || '')
    if (!problem) return new RequestError('unknown-key')
    this.chargeAddress(request)
    return problem
  }
}

const gatePlugin = { name: 'gate' }

export const gate = fp(async (app) => {
  app.decorateRequest('merchant', null)
  app.decorate('gate', new Gate(app.services))
}, gatePlugin)

/** Returns the context of a request whose merchant is known. */
export function merchantContext({ merchant, id }: FastifyRequest): CommandContext {
  return { actor: `merchant:${merchant!.merchantId}`, $correlationId: id, $causationId: id }
}

const isRead = ({ method }: FastifyRequest): boolean => method === 'GET' || method === 'HEAD'

function refuse(retryAfterSeconds: number): void {
  if (retryAfterSeconds > 0) throw new RequestError('too-many-requests', { retryAfterSeconds })
}
