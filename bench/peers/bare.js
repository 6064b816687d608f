/** Fastify without storage, which measures the cost of HTTP, JSON, the schema and the hash. */
import { readOptions, serveCreates } from './app.js'

await serveCreates(readOptions().merchant, ({ trackingId }) => trackingId)
