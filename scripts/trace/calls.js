// Loaded into each thread of a traced service with --import. Writes to TRACE_FILE when a function is called for the first time after a
// pause.
import { appendFileSync } from 'node:fs'
import { register } from 'node:module'

const pauseMs = 500
const lastCalls = new Map()

globalThis.called = (name) => {
  const now = Date.now()
  if (now - (lastCalls.get(name) ?? 0) > pauseMs)
    appendFileSync(process.env.TRACE_FILE, `${now} ${process.hrtime.bigint()} ${name}\n`)
  lastCalls.set(name, now)
}
register('./hooks.js', import.meta.url)
