#!/usr/bin/env node
import { run } from './program.js'

// The data directory contains secrets, so only its owner may read new files.
process.umask(0o077)
// A reader that has closed the pipe (`| head`) is not a failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
})
process.exitCode = await run(process.argv)
