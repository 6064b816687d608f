import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { type Browser, chromium } from 'playwright-core'

const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']

/** Returns CHROMIUM_PATH, or the first browser on PATH with one of the usual names. */
function chromiumPath(): string | undefined {
  const { CHROMIUM_PATH, PATH = '' } = process.env
  if (CHROMIUM_PATH) return CHROMIUM_PATH
  const candidates = PATH.split(delimiter).flatMap((folder) => names.map((name) => join(folder, name)))
  return candidates.find(isExecutable)
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** Starts Chromium. Prints a notice and returns `undefined` if it is not installed. */
export async function launchBrowser(): Promise<Browser | undefined> {
  const executablePath = chromiumPath()
  if (!executablePath) {
    console.error('NOT RUN: browser tests. Chromium was not found on PATH or in CHROMIUM_PATH.')
    return undefined
  }
  // Containers that run as root forbid the sandbox and have a small /dev/shm.
  const args = [...(process.getuid?.() === 0 ? ['--no-sandbox'] : []), '--disable-dev-shm-usage', '--disable-gpu']
  return chromium.launch({ executablePath, args, timeout: 60_000 })
}
