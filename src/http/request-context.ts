import type { FastifyRequest } from 'fastify'
import type { CommandContext } from '../commands/handle-command.js'

/** Of a request whose merchant is known. */
export function contextOf(request: FastifyRequest): CommandContext {
  return { actor: `merchant:${request.merchant!.merchantId}`, $correlationId: request.id, $causationId: request.id }
}
