import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { completionScript, type Shell } from '../../src/cli/completion.js'
import { buildProgram } from '../../src/cli/program.js'
import { runCli, temporaryDirectory } from '../support/processes.js'

const directory = temporaryDirectory(t)
mkdirSync(join(directory, 'backups'))
writeFileSync(join(directory, 'proof.txt'), '')
for (const shell of ['bash', 'zsh', 'fish'] as const)
  writeFileSync(join(directory, `.${shell}`), completionScript(buildProgram(), shell))

/** Prints the candidates for the words in "$@", of which the last one is incomplete. */
const inBash = `
source .bash
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_transferd
printf '%s\\n' "\${COMPREPLY[@]}"`

/** Runs the completion in a shell on a pseudo terminal, and prints the candidates that its functions add. */
const inZsh = `
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell 'PS1= PS2= ; unsetopt zle_bracketed_paste 2>/dev/null; autoload -Uz compinit; compinit -u -D; source .zsh'
zpty -w shell 'compadd() {
  if [[ " $* " == *" -O "* || " $* " == *" -D "* || " $* " == *" -A "* ]]; then builtin compadd "$@"; return; fi
  local -a shown; builtin compadd -O shown "$@"; print -rl -- $shown >>.candidates; builtin compadd "$@"
}'
zpty -w shell 'finish() { print done >.finished; exit }; zle -N finish; bindkey "^X" finish; bindkey "^I" complete-word; zle -C complete-word complete-word _main_complete'
zpty -w -n shell "$1"$'\\t\\x18'
while [[ ! -e .finished ]] && zpty -r shell line; do :; done
zpty -d shell
cat .candidates 2>/dev/null
rm -f .finished .candidates`

const complete: { readonly [shell in Shell]: (words: readonly string[]) => string } = {
  bash: (words) => execFileSync('bash', ['-c', inBash, 'bash', ...words], { cwd: directory, encoding: 'utf8' }),
  fish: (words) =>
    execFileSync('fish', ['--no-config', '-c', 'source .fish; complete -C "$argv[1]"', words.join(' ')], {
      cwd: directory,
      encoding: 'utf8',
      env: { ...process.env, HOME: directory },
    }).replaceAll(/\t.*/g, ''),
  zsh: (words) =>
    execFileSync('zsh', ['-f', '-c', inZsh, 'zsh', words.join(' ')], { cwd: directory, encoding: 'utf8' }),
}

const statuses = ['Pending', 'Completed', 'ManualControl', 'Cancelled', 'Failed']
const expected: [words: string, candidates: readonly string[]][] = [
  ['master-keys ', ['list', 'rotate', 'give-up', 'help']],
  ['merchants keys ', ['create', 'list', 'revoke', 'help']],
  ['help pay', ['payouts']],
  ['projections help re', ['rebuild', 'resume']],
  ['payouts s', ['status', 'stop']],
  ['merch', ['merchants']],
  ['completion ', ['bash', 'zsh', 'fish']],
  ['completion z', ['zsh']],
  ['completion zsh ', []],
  ['transfers list --status ', statuses],
  ['transfers list --kind deposit --status C', ['Completed', 'Cancelled']],
  ['payouts stop --', ['--reason', '--output', '--json', '--help']],
  ['audit check --k', ['--key']],
  ['audit state ', ['transfer', 'merchant', 'user', 'statement']],
  ['audit state --at 2026-11-21 ', ['transfer', 'merchant', 'user', 'statement']],
  ['audit state merchant ', []],
  ['audit disclosure ', ['request', 'approve', 'reject', 'show', 'help']],
  ['audit evidence x --disclose a', ['account']],
  ['merchants create --name list ', []],
  ['merchants set x --require-signature --no-n', []],
  ['audit check pro', ['proof.txt']],
  ['restore b', ['backups']],
  ['audit check proof.txt --checkpoint p', ['proof.txt']],
  ['merchants show ', []],
  ['merchants show --output ', ['json']],
  ['users list -o ', ['table', 'wide', 'csv', 'json']],
  ['outbox list --columns ', ['at', 'kind', 'to', 'code', 'link']],
]
/** The candidates of the last element of a list. zsh adds them without the elements before it. */
const inLists: [words: string, candidates: readonly string[]][] = [
  ['outbox list --columns at,', ['at', 'kind', 'to', 'code', 'link']],
  ['outbox list --columns at,kind,l', ['link']],
  ['audit disclosure request x --disclose name,b', ['bank']],
]

for (const shell of ['bash', 'zsh', 'fish'] as const) {
  const skip = spawnSync(shell, ['-c', 'true']).status === 0 ? false : `${shell} is not installed`
  t.test(`${shell} completes commands, options, choices and files`, { skip }, async (t) => {
    for (const [line, candidates] of [...expected, ...inLists]) {
      const found = complete[shell](['transferd', ...line.split(' ')])
      const names = found.split('\n').filter((name) => name !== '')
      t.same([...new Set(names)].map((name) => name.replace(/\/$|^.*,/, '')).sort(), [...candidates].sort(), line)
    }
  })
}

t.test('bash completes --option=value', async (t) => {
  const found = complete.bash(['transferd', 'transfers', 'list', '--status', '=', 'Pen'])
  t.equal(found, 'Pending\n')
  const words = ['transferd', 'outbox', 'list', '--columns', '=', 'kind,c']
  t.equal(complete.bash(words), 'kind,code\n', 'with the elements before the last one')
})

t.test('the command prints the script, and its help says how to install it for each shell', async (t) => {
  const { status, stdout } = await runCli(directory, ['completion', 'bash'], { PORT: 'invalid' })
  t.equal(status, 0)
  t.equal(stdout, completionScript(buildProgram(), 'bash'))
  const help = await runCli(directory, ['completion', '--help'])
  for (const shell of ['bash', 'zsh', 'fish']) t.match(help.stdout, `transferd completion ${shell} >`)
})
