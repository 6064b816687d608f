import { Option } from 'commander'
import { integer } from './options.js'

const defaultSeconds = '2'

/** Returns the option of the commands that show a changing state. Its value is in seconds. */
export function watchOption(): Option {
  const description = 'print again every 2 seconds, or every 5 with --watch=5, until SIGTERM or SIGINT'
  return new Option('--watch [seconds]', description).preset(defaultSeconds).argParser(integer({ min: 1, max: 3_600 }))
}

/** Gives `--watch` its default value, because the parser would take the next argument, such as a trackingId, as the number of seconds. */
export function withSeconds(argv: readonly string[]): string[] {
  return argv.map((each) => (each === '--watch' ? `${each}=${defaultSeconds}` : each))
}
