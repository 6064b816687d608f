import { createInterface } from 'node:readline'
import { prepareLog } from '../../src/file/log-file.js'

/** A process that opens the log in each directory that it receives as a line, and prints `opened` or the error. */
for await (const directory of createInterface({ input: process.stdin })) {
  try {
    prepareLog(directory)
    console.log('opened')
  } catch (error) {
    console.log(String(error))
  }
}
