import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { SignIn, SignInAttempt } from '../../../commands/user/login-guard.js'
import type { User } from '../../../domain/user/user.js'
import { bucketOf } from '../../../security/token-buckets.js'
import { RequestError } from '../../refusals.js'

export interface ProofOptions {
  readonly signIn: SignIn
}

type Claim = Omit<SignInAttempt, 'address' | 'deviceCookie'>

/** The limit of password checks per address, which an office may share. */
const rate = { perSecond: 0.5, burst: 30 }

/** Returns a function that checks a password, and a code if the user has a second factor. It throws RequestError if one is wrong. */
export function prover({ gate, viewers }: FastifyInstance, { signIn }: ProofOptions) {
  const charge = gate.limitEach(rate)
  return async (claim: Claim, request: FastifyRequest, reply: FastifyReply): Promise<User> => {
    charge(request)
    const deviceCookie = viewers.cookies.device(request)
    const context = { actor: 'system:sign-in', $correlationId: request.id, $causationId: request.id }
    const result = await signIn({ ...claim, deviceCookie, address: bucketOf(request.ip) }, context)
    switch (result.outcome) {
      case 'accepted':
        viewers.cookies.setDevice(reply, result.deviceCookie)
        return result.value
      case 'locked':
        throw new RequestError('login-throttled', { retryAfterSeconds: result.retryAfterSeconds })
      case 'unfinished':
        throw new RequestError('second-factor-needed')
      case 'refused':
        throw new RequestError('sign-in-wrong')
      default:
        return result satisfies never
    }
  }
}
