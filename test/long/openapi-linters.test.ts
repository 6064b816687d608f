import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { destroyTestService, startTestService } from '../support/test-service.js'

/** The directory in which the packages of `.ci/openapi-linters` are installed. */
const linters = process.env.TEST_OPENAPI_LINTERS ?? ''
const ruleset = resolve('.ci/openapi-linters/spectral.yaml')

const run = promisify(execFile)
const env = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' }

t.test(
  'Spectral and Redocly find no error and no warning in the documents',
  { skip: linters === '' && 'TEST_OPENAPI_LINTERS is not set' },
  async (t) => {
    const service = await startTestService()
    t.teardown(() => destroyTestService(service))
    const cwd = t.testdir({})
    for (const path of ['json', 'openapi-3.0.json', 'service/json']) {
      const file = path.replace('/', '-')
      writeFileSync(join(cwd, file), (await service.app.inject(`/documentation/${path}`)).body)
      /** Returns the report, also if the linter fails because of it. */
      const lint = async (name: string, ...options: string[]) => {
        const args = ['lint', file, '--format', 'json', ...options]
        const program = join(linters, 'node_modules', '.bin', name)
        const { stdout } = await run(program, args, { cwd, env }).catch((error) => error)
        return JSON.parse(stdout)
      }
      t.same(await lint('spectral', '--ruleset', ruleset, '--quiet'), [], path)
      const redocly = await lint('redocly', '--extends', 'recommended-strict', '--max-problems', '1000')
      t.same(redocly.problems, [], path)
    }
  },
)
