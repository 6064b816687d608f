import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openEventLog } from '@transferd/event-log'
import t from 'tap'
import { cliJson } from '../cli/in-process.js'
import { wholeLog } from '../support/expected-documents.js'
import { type Answer, type Credentials, createDeposit } from '../support/merchant-client.js'
import { startServiceProcess } from '../support/processes.js'
import { until } from '../support/until.js'

/** Mounts a file system of 24 MiB and returns its directory, or undefined if this user cannot mount one. */
function smallFileSystem(): string | undefined {
  const directory = mkdtempSync(join(tmpdir(), 'transferd-full-'))
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=24m', 'tmpfs', directory], { stdio: 'ignore' })
    return directory
  } catch {
    rmSync(directory, { recursive: true })
    return undefined
  }
}

const mounted = smallFileSystem()

t.test(
  'returns 503 on a full disk, acknowledges nothing, and recovers automatically',
  { skip: !mounted && 'needs root' },
  async (t) => {
    const mount = mounted!
    t.teardown(() => execFileSync('umount', ['-l', mount]))
    const directory = join(mount, 'service')
    mkdirSync(directory)
    const options = ['--callback-url', 'http://127.0.0.1:9/', '--sandbox', '--rate-limit', '100000']
    const credentials = await cliJson<Credentials>(directory, 'merchants', 'create', '--name', 'Full', ...options)
    const service = await startServiceProcess(t, { directory })
    const acknowledged: string[] = []
    const burst = async (count: number): Promise<Answer[]> => {
      const responses = await Promise.all(
        Array.from({ length: count }, () => createDeposit(service.baseUrl, credentials)),
      )
      for (const { status, body } of responses) if (status === 200) acknowledged.push(body.result!.trackingId)
      return responses
    }
    t.strictSame(new Set((await burst(20)).map(({ status }) => status)), new Set([200]))

    const ballast = join(mount, 'ballast')
    const { bavail, bsize } = statfsSync(mount)
    try {
      writeFileSync(ballast, Buffer.alloc(bavail * bsize))
    } catch (error) {
      // The service may have used some of the space since, so the disk is full either way.
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
    }
    let refused: Answer[] = []
    for (let round = 0; round < 40 && refused.length === 0; round++) {
      refused = (await burst(50)).filter(({ status }) => status !== 200)
    }
    t.ok(refused.length > 0, 'the disk fills up')
    for (const { status, retryAfter, body } of refused) {
      t.equal(status, 503)
      t.ok(Number(retryAfter) > 0, 'the response has Retry-After')
      t.equal(body.success, false)
    }
    t.equal((await fetch(`${service.baseUrl}/health/live`)).status, 200, 'the process stays alive')

    rmSync(ballast)
    await until(async () => (await burst(1))[0]!.status === 200)
    t.equal(await service.end('SIGTERM'), 0)

    const store = await openEventLog({ directory: join(directory, 'data') })
    t.teardown(() => store.close())
    const stored = new Set((await wholeLog(store)).map(({ data }) => data.trackingId))
    t.strictSame(
      acknowledged.filter((trackingId) => !stored.has(trackingId)),
      [],
      'the log contains every acknowledged create',
    )
  },
)
