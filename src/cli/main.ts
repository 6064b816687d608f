#!/usr/bin/env node
import { run } from './program.js'

// What the stores hold is nobody else's business, whatever directory they are put in.
process.umask(0o077)
// A reader that has gone (`| head`) is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
})
process.exitCode = await run(process.argv)
