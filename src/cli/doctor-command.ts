import type { Command } from 'commander'
import { addJsonOption, print, Refused } from './command.js'
import { table } from './readable.js'

export function addDoctorCommand(program: Command): void {
  const command = program
    .command('doctor')
    .description('check this installation and suggest remedies, with or without a running service')
  addJsonOption(command).action(() => doctor(command))
}

/** Prints all checks. @throws Refused if one failed */
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
