import { PassThrough } from 'node:stream'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { FairQueue } from '../../../kernel/fair-queue.js'
import { Type } from '../../../kernel/typebox.js'
import { LiveView } from '../../../queries/live-changes.js'
import { TooManyReadsError } from '../../../readers/readers.js'
import { LiveMessage } from '../api.js'
import { withoutHead } from '../downloads.js'
import { merchantsOf } from '../session-guard.js'
import { rowOf } from '../transfers/dashboard-transfer-view.js'
import { bucketOf } from './figure-routes.js'

const LiveQuery = Type.Object({ merchantId: Type.Optional(Type.String()) })

/** The limits of open streams per user and in all. */
const maxViews = { concurrencyPerKey: 6, concurrency: 300, maxWaitingPerKey: 0, maxWaiting: 0 }
const retryAfterSeconds = 5
const sessionCheckMs = 3_000
/** The interval of keep-alive messages and session checks. Proxies close connections that stay silent for longer. */
const checksPerHeartbeat = 5
/** The time after which a reader that does not read is disconnected. It can reconnect. */
const maxStuckChecks = 20
const againAfterMs = 3_000

/** Sends changes of transfers as server-sent events. */
export const liveRoutes: FastifyPluginAsyncTypebox = async (app) => {
  const { eventStore: store, readModels, logger } = app.services
  const view = new LiveView({ store, readModels, onError: (err) => logger.warn({ err }, 'live view') })
  const { concurrencyPerKey } = maxViews
  const watching = new FairQueue(maxViews, (limit) => {
    return new TooManyReadsError(retryAfterSeconds, limit === 'key' ? concurrencyPerKey : undefined)
  })
  app.addHook('preClose', (done) => {
    view.close()
    done()
  })
  const live = { ...withoutHead, ...app.viewers.allow('transfers:read')({ querystring: LiveQuery }) }
  app.get('/live', live, async (request, reply) => {
    const merchantIds = merchantsOf(request, request.query.merchantId) ?? null
    const end = await watching.enter(request.viewer.userId)
    // Wait for a slow reader: unread data stays buffered, and nothing more is written.
    const events = new PassThrough()
    events.once('close', end)
    const serialize = reply.compileSerializationSchema(LiveMessage)
    const leave = await view
      .watch({
        merchantIds,
        isReady: () => !events.writableNeedDrain,
        send: ({ changes, transfers: documents }) => {
          const transfers = documents.map((document) => rowOf(request, document))
          write(events, `data: ${serialize({ changes: changes.map(bucketOf), transfers })}\n\n`)
        },
        end: () => events.end(),
      })
      .catch((error) => {
        events.destroy()
        throw error
      })
    const stopChecking = endWithSession(request.viewer.sessionId, events)
    events.once('close', () => {
      stopChecking()
      leave()
    })
    write(events, `retry: ${againAfterMs}\n\n`)
    return reply.type('text/event-stream').header('x-accel-buffering', 'no').send(events)
  })

  /** Ends the stream when its session ends or the reader stops reading. */
  function endWithSession(sessionId: string, events: PassThrough): () => void {
    let checks = 0
    let stuck = 0
    const timer = setInterval(async () => {
      checks++
      stuck = events.writableNeedDrain ? stuck + 1 : 0
      if (stuck >= maxStuckChecks) events.destroy()
      else if (stuck === 0 && checks % checksPerHeartbeat === 0) write(events, ':\n\n')
      // Unavailable read models end no session. The next check decides.
      const isActive = await app.viewers.sessions.isActive(sessionId).catch(() => true)
      if (!isActive) events.end()
    }, sessionCheckMs)
    return () => clearInterval(timer)
  }
}

/** Writes to the stream unless it has just ended. */
function write(events: PassThrough, text: string): void {
  if (events.writable) events.write(text)
}
