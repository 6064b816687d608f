import type { Command } from 'commander'
import { sqliteVersion, version } from '../operations/version.js'
import { defineBareCommand } from './command.js'

const shells = ['bash', 'zsh', 'fish'] as const

const installation = `
Install it for your user:
  bash  transferd completion bash > ~/.local/share/bash-completion/completions/transferd
  zsh   transferd completion zsh > ~/.zfunc/_transferd, with "fpath=(~/.zfunc $fpath)" before compinit in ~/.zshrc
  fish  transferd completion fish > ~/.config/fish/completions/transferd.fish
Or load it in the current shell:
  bash and zsh  source <(transferd completion bash), or zsh after compinit
  fish          transferd completion fish | source`

/** Adds the commands about the program itself. They need no configuration. */
export function addInstallationCommands(program: Command): void {
  defineBareCommand(program, 'version', 'the versions of transferd, Node.js and SQLite, and the platform', {
    examples: ['', '--json'],
    async run() {
      const platform = `${process.platform} ${process.arch}`
      return { version, node: process.versions.node, platform, sqlite: await sqliteVersion() }
    },
  })
  defineBareCommand(program, 'completion <shell>', 'print a script with which a shell completes commands and options', {
    examples: ['bash > ~/.local/share/bash-completion/completions/transferd', 'fish | source'],
    args: { shell: { choices: shells } },
    notes: installation,
    async run(_, __, shell: string) {
      const { completionScript } = await import('./completion.js')
      return { shell, script: completionScript(program, shell as (typeof shells)[number]) }
    },
    text: ({ script }) => script,
  })
}
