import type { Command } from 'commander'
import { print, Refused, takesJson } from './command.js'
import { table } from './readable.js'

export function addDoctorCommand(program: Command): void {
  const command = program
    .command('doctor')
    .description('what is wrong with this installation, and what to do, beside a running service or without one')
  takesJson(command).action(() => doctor(command))
}

/** @throws Refused when a check failed, after all of them are printed */
async function doctor(command: Command): Promise<void> {
  const { examine } = await import('../operations/doctor/doctor.js')
  const checks = await examine(process.env, () => new Date().toISOString())
  const rows = checks.flatMap(({ result, name, subject, found, advice }) => [
    { result, name: subject === null ? name : `${name} ${subject}`, text: found },
    ...(advice === null ? [] : [{ result: '', name: '', text: `→ ${advice}` }]),
  ])
  print(command, { checks }, () =>
    table(rows, [
      { head: 'RESULT', cell: ({ result }) => result || ' ' },
      { head: 'CHECK', cell: ({ name }) => name || ' ', max: 40 },
      { head: 'FOUND', cell: ({ text }) => text },
    ]),
  )
  const failed = checks.filter(({ result }) => result === 'failed').length
  if (failed > 0) throw new Refused(`${failed} of ${checks.length} checks failed.`)
}
