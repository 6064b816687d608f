import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify'
import type { ApiKey, Scope } from '../../domain/merchant/api-key.js'
import type { Merchant } from '../../domain/merchant/merchant.js'
import { merchantIdOfApiKey } from '../../security/credentials.js'
import type { App } from '../app.js'
import type { HttpDependencies } from '../dependencies.js'
import { failures, RequestError } from '../errors.js'
import { bucketOf } from './address-bucket.js'
import { routeScopes } from './scopes.js'
import { TokenBuckets } from './token-buckets.js'

declare module 'fastify' {
  interface FastifyRequest {
    /** Whose request it is; null until that is known. */
    merchant: Merchant | null
  }
}

/** Guesses at keys: a burst of five, then one every twelve seconds, for each address. */
const guesses = { perSecond: 5 / 60, burst: 5 }
/** Failures that belong to no merchant, and pages for customers, for each address. */
const anonymous = { perSecond: 100, burst: 500 }
/** Polls of one transfer; a second one may overtake the first on the way. */
const freePolls = { perSecond: 1, burst: 2 }
/** Steps of paying, for each address: many customers may share one (a mobile network), each has a few to take. */
const payments = { perSecond: 0.5, burst: 60 }
/** Health, metrics and the documentation, which cost more than they look, for each address. */
const observations = { perSecond: 20, burst: 200 }
const merchantBurstSeconds = 5
const maxKeys = 100_000

/** Who may come in, and how often. */
export class Gate {
  private readonly merchants: TokenBuckets
  private readonly addresses: TokenBuckets
  private readonly guesses: TokenBuckets
  private readonly polls: TokenBuckets
  private readonly payments: TokenBuckets
  private readonly observations: TokenBuckets

  constructor(
    private readonly directory: HttpDependencies['directory'],
    nowMs: () => number,
  ) {
    this.merchants = new TokenBuckets(nowMs, maxKeys)
    this.addresses = new TokenBuckets(nowMs, maxKeys)
    this.guesses = new TokenBuckets(nowMs, maxKeys)
    this.polls = new TokenBuckets(nowMs, maxKeys)
    this.payments = new TokenBuckets(nowMs, maxKeys)
    this.observations = new TokenBuckets(nowMs, maxKeys)
  }

  /** Route hook: a valid WebApiKey with the route's scope from an allowed address, or nothing. Before the body is read, so strangers cost little. */
  readonly requireKey = (request: FastifyRequest, _reply: FastifyReply, done: HookHandlerDoneFunction): void => {
    this.withKey(request, true, done)
  }

  /** Route hook: as above when a key was sent; otherwise the handler finds out whose request it is. */
  readonly acceptKey = (request: FastifyRequest, reply: FastifyReply, done: HookHandlerDoneFunction): void => {
    if (request.headers.webapikey === undefined) done()
    else this.requireKey(request, reply, done)
  }

  /** Route hook: as requireKey, but it counts nothing: the handler must call {@link chargePoll}. */
  readonly requireKeyUncounted = (
    request: FastifyRequest,
    _reply: FastifyReply,
    done: HookHandlerDoneFunction,
  ): void => {
    this.withKey(request, false, done)
  }

  /** Makes the request this merchant's. @throws RequestError when the merchant may not call, or too often */
  admit(request: FastifyRequest, merchant: Merchant): void {
    this.allow(request, merchant)
    this.charge(merchant)
  }

  /**
   * Counts a poll against the merchant only when it is not what polling is for: once a second, of something that is there.
   * `subject` names that; undefined when it is not there. @throws RequestError
   */
  chargePoll(request: FastifyRequest, subject: string | undefined): void {
    const merchant = request.merchant!
    if (subject !== undefined && this.polls.take(subject, freePolls.perSecond, freePolls.burst) === 0) return
    this.charge(merchant)
  }

  private allow(request: FastifyRequest, merchant: Merchant): void {
    if (merchant.suspended) throw new RequestError(failures.merchantSuspended)
    if (!this.directory.allowsAddress(merchant.merchantId, request.ip)) {
      throw new RequestError(failures.addressNotAllowed)
    }
    request.merchant = merchant
  }

  private charge(merchant: Merchant): void {
    const { rateLimitPerSecond: perSecond } = merchant.settings
    refuse(this.merchants.take(merchant.merchantId, perSecond, perSecond * merchantBurstSeconds))
  }

  /** Counts what belongs to no merchant. @throws RequestError when the address has done that too often */
  chargeAddress(request: FastifyRequest): void {
    refuse(this.addresses.take(bucketOf(request.ip), anonymous.perSecond, anonymous.burst))
  }

  /** Route hook of files that anybody may ask for. */
  readonly limitAddress = (request: FastifyRequest, _reply: FastifyReply, done: HookHandlerDoneFunction): void => {
    this.chargeAddress(request)
    done()
  }

  /** Route hook. A count for each of them: who reads the documentation must not make the node look ill to a prober. */
  readonly limitObserver =
    (what: 'health' | 'metrics' | 'documentation') =>
    (request: FastifyRequest, _reply: FastifyReply, done: HookHandlerDoneFunction): void => {
      refuse(this.observations.take(`${what} ${bucketOf(request.ip)}`, observations.perSecond, observations.burst))
      done()
    }

  /** @throws RequestError when the address has guessed too often */
  chargeGuess(request: FastifyRequest): void {
    refuse(this.guesses.take(bucketOf(request.ip), guesses.perSecond, guesses.burst))
  }

  /** A log-in, a code or a confirmation. @throws RequestError when the address has sent too many */
  chargePayment(request: FastifyRequest): void {
    refuse(this.payments.take(bucketOf(request.ip), payments.perSecond, payments.burst))
  }

  /** Which keys of a merchant out of service are valid is not known: nobody is told that theirs is wrong. @throws RequestError */
  private refusal(request: FastifyRequest, key: string | string[] | undefined): Error {
    const problem = this.directory.problemOf((typeof key === 'string' && merchantIdOfApiKey(key)) || '')
    if (!problem) return new RequestError(failures.unknownKey)
    this.chargeAddress(request)
    return problem
  }

  private ownerOf(key: string | string[] | undefined) {
    return typeof key === 'string' ? this.directory.byApiKey(key) : undefined
  }

  private withKey(request: FastifyRequest, counted: boolean, done: HookHandlerDoneFunction): void {
    const key = request.headers.webapikey
    const identified = (owner: ReturnType<typeof this.ownerOf>) => {
      let refused: Error | undefined
      try {
        if (!owner) throw this.refusal(request, key)
        this.allow(request, owner.merchant)
        const missing = missingScope(request, owner.key)
        if (counted || missing) this.charge(owner.merchant)
        if (missing) throw new RequestError(failures.scopeMissing, { details: `It needs the scope ${missing}.` })
      } catch (error) {
        refused = error as Error
      }
      done(refused)
    }
    const owner = this.ownerOf(key)
    if (owner || key === undefined) identified(owner)
    // Issued a moment ago by another process or node, perhaps.
    else this.directory.catchUp().then(() => identified(this.ownerOf(key)), done)
  }
}

export function registerGate(app: App, deps: HttpDependencies): Gate {
  app.decorateRequest('merchant', null)
  return new Gate(deps.directory, deps.monotonicMs)
}

/** What the route asks for and the key has not. */
function missingScope({ routeOptions: { url } }: FastifyRequest, { scopes }: ApiKey): Scope | undefined {
  const scope = routeScopes[url ?? '']
  if (scope === undefined) throw new Error(`the route ${url} has no scope`)
  return scopes.includes(scope) ? undefined : scope
}

function refuse(retryAfterSeconds: number): void {
  if (retryAfterSeconds > 0) throw new RequestError(failures.tooManyRequests, { retryAfterSeconds })
}
