/** Fastify and nothing behind it: what HTTP, JSON, schema and hash cost alone. */
import { given, serveCreates } from './app.js'

await serveCreates(given().merchant, ({ trackingId }) => trackingId)
