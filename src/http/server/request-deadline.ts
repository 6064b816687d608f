import type { FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { StoreUnavailableError } from '../../event-store/event-store.js'

/** A second less than the documented 10 s, because a busy process responds late. */
const deadlineMs = 9_000

const timers = new WeakMap<FastifyRequest, NodeJS.Timeout>()

/**
 * Responds with 503 to a request that is not completed in time. Each call to a store has its own limit, and a request makes several calls.
 * The work of the request continues, as after a lost connection, so its outcome is unknown.
 */
export const requestDeadline = fp(async (app) => {
  // The deadline starts after the body has arrived: a slow sender gets 408.
  app.addHook('preHandler', (request, reply, done) => {
    timers.set(request, setTimeout(sendTimeout, deadlineMs, reply))
    done()
  })
  app.addHook('onResponse', (request, _reply, done) => {
    clearTimeout(timers.get(request))
    done()
  })
})

/** Ends the deadline of a request that waits for other systems, or reads a large part of the log. They have their own limits. */
export function endDeadline(request: FastifyRequest, _reply?: FastifyReply, done?: () => void): void {
  clearTimeout(timers.get(request))
  done?.()
}

function sendTimeout(reply: FastifyReply): void {
  if (!reply.raw.headersSent)
    reply.send(new StoreUnavailableError(`the request was not completed within ${deadlineMs} ms`))
}
