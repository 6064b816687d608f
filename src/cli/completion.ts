import type { Argument, Command, Option } from 'commander'

/** Suggestions for each element of a list that is separated by commas. */
interface ListSuggestions {
  readonly listOf: readonly string[]
}

/** The suggestions of a shell for a value: words, the names of files, or nothing. */
type Suggestions = readonly string[] | ListSuggestions | 'files' | 'nothing'

interface CompletedOption {
  /** All forms, such as `-h` and `--help`. */
  readonly flags: readonly string[]
  readonly description: string
  /** `undefined` if the option takes no value. */
  readonly value: Suggestions | undefined
  /** Whether the value can be omitted. */
  readonly isOptional: boolean
}

/** A command or a group of commands, as the completion knows it. */
interface Completed {
  /** The words after `transferd`. */
  readonly path: string
  readonly subcommands: readonly { readonly name: string; readonly description: string }[]
  readonly options: readonly CompletedOption[]
  readonly args: readonly { readonly suggestions: Suggestions; readonly isVariadic: boolean }[]
}

const generators = { bash: bashScript, zsh: zshScript, fish: fishScript }
export type Shell = keyof typeof generators

/** Returns a script that completes the commands, options and choices that commander knows. It does not run transferd. */
export function completionScript(program: Command, shell: Shell): string {
  return generators[shell](completedIn(program, []))
}

/** The names of values and arguments that are paths. */
const pathNames = new Set(['backup', 'checkpoint', 'directory', 'file', 'manifest', 'path', 'proof', 'target'])

function completedIn(command: Command, path: readonly string[], parent?: Command): Completed[] {
  const help = command.createHelp()
  const subcommands = help.visibleCommands(command)
  // The argument of `help` is the name of another command of its group.
  const others = command.name() === 'help' ? parent?.commands.map((each) => each.name()) : undefined
  const completed = {
    path: path.join(' '),
    subcommands: subcommands.map((each) => ({ name: each.name(), description: each.description() })),
    options: help.visibleOptions(command).map(completedOption),
    args: command.registeredArguments.map((argument) => ({
      suggestions: others ?? suggestionsOf(argument.name(), argument),
      isVariadic: argument.variadic,
    })),
  }
  return [completed, ...subcommands.flatMap((each) => completedIn(each, [...path, each.name()], command))]
}

function completedOption(option: Option): CompletedOption {
  const { short, long, description, flags, required, optional } = option
  const name = /[<[]([^>\].]+)/.exec(flags)?.[1] ?? ''
  return {
    flags: [short, long].filter((flag) => flag !== undefined && flag !== null),
    description,
    value: required || optional ? suggestionsOf(name, option) : undefined,
    isOptional: optional,
  }
}

function suggestionsOf(name: string, { argChoices }: Pick<Option | Argument, 'argChoices'>): Suggestions {
  if (argChoices) return name.endsWith(',') ? { listOf: argChoices } : argChoices
  return pathNames.has(name) ? 'files' : 'nothing'
}

// --- what the scripts of bash and zsh share: `path` is the command before the cursor, `option` the option that expects a value, `count`
// the number of arguments of the command

/** Returns the lines of a `case` in which the words before the cursor lead to a subcommand. */
function pathCases(all: readonly Completed[]): string[] {
  return all.flatMap(({ path, subcommands }) =>
    subcommands.map(({ name }) => `    ${quoted(`${path}/${name}`)}) path=${quoted(`${path} ${name}`.trim())} ;;`),
  )
}

/** Returns the lines of a `case` for each option that takes a value. */
function valueCases(all: readonly Completed[], isOptional: boolean): string {
  const found = all.flatMap(({ path, options }) =>
    options
      .filter((option) => option.value !== undefined && option.isOptional === isOptional)
      .flatMap(({ flags }) => flags.map((flag) => quoted(`${path}/${flag}`))),
  )
  return found.join(' | ') || "'/'"
}

/** Returns the lines of a `case` with the suggestions for each option and argument. `*` stands for each argument of a variadic one. */
function suggestionCases(
  all: readonly Completed[],
  lineOf: (suggestions: Exclude<Suggestions, 'nothing'>) => string,
): string[] {
  return all.flatMap(({ path, options, args }) => [
    ...options.flatMap(({ flags, value }) =>
      value === undefined || value === 'nothing'
        ? []
        : [`    ${flags.map((flag) => quoted(`${path}/${flag}`)).join(' | ')}) ${lineOf(value)} ;;`],
    ),
    ...args.flatMap(({ suggestions, isVariadic }, n) =>
      suggestions === 'nothing' ? [] : [`    ${quoted(`${path}/`)}${isVariadic ? '*' : n}) ${lineOf(suggestions)} ;;`],
    ),
  ])
}

/** Walks the words before the cursor. Both shells understand it; `words` and `last` differ. */
function walk(all: readonly Completed[]): string {
  return `  for word in "\${before[@]}"; do
    [[ $word == '=' ]] && continue
    if [[ -n $option ]]; then
      # An option with an optional value does not take another option as its value.
      if [[ $optional == 0 || $word != -* ]]; then
        option=
        continue
      fi
      option=
    fi
    if [[ $word == -* ]]; then
      case "$path/$word" in
      ${valueCases(all, false)}) option=$word optional=0 ;;
      ${valueCases(all, true)}) option=$word optional=1 ;;
      esac
      continue
    fi
    case "$path/$word" in
${pathCases(all).join('\n')}
    *) count=$((count + 1)) ;;
    esac
  done`
}

// --- bash

function bashScript(all: readonly Completed[]): string {
  const words = (list: readonly string[]) => `COMPREPLY=($(compgen -W ${quoted(list.join(' '))} -- "$current"))`
  const list = ({ listOf }: ListSuggestions) =>
    `compopt -o nospace 2>/dev/null; COMPREPLY=($(compgen -P "\${current%"\${current##*,}"}" -W ${quoted(listOf.join(' '))} -- "\${current##*,}"))`
  const files = 'compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- "$current")'
  return `# Completes transferd in bash, generated by \`transferd completion bash\`.
_transferd() {
  local path= option= optional=0 count=0 word current=\${COMP_WORDS[COMP_CWORD]}
  local before=("\${COMP_WORDS[@]:1:COMP_CWORD-1}")
  COMPREPLY=()
  # bash splits --option=value into three words.
  [[ $current == '=' ]] && current=
${walk(all)}
  if [[ $current == -* && ( -z $option || $optional == 1 ) ]]; then
    case $path in
${all.map(({ path, options }) => `    ${quoted(path)}) ${words(options.flatMap(({ flags }) => flags.filter((flag) => flag.startsWith('--'))))} ;;`).join('\n')}
    esac
    return
  fi
  if [[ -z $option && $count == 0 ]]; then
    case $path in
${all
  .filter(({ subcommands }) => subcommands.length > 0)
  .map(({ path, subcommands }) => `    ${quoted(path)}) ${words(subcommands.map(({ name }) => name))} ;;`)
  .join('\n')}
    esac
  fi
  [[ -z $option ]] && option=$count
  case "$path/$option" in
${suggestionCases(all, (suggestions) => {
  if (suggestions === 'files') return files
  return 'listOf' in suggestions ? list(suggestions) : words(suggestions)
}).join('\n')}
  esac
}
complete -F _transferd transferd
`
}

// --- zsh

function zshScript(all: readonly Completed[]): string {
  const described = (list: readonly { readonly name: string; readonly description: string }[], what: string) =>
    `found=(${list.map(({ name, description }) => quoted(`${name.replaceAll(':', '\\:')}:${description}`)).join(' ')}); _describe ${quoted(what)} found`
  const optionsOf = ({ options }: Completed) =>
    options.flatMap(({ flags, description }) =>
      flags.filter((flag) => flag.startsWith('--')).map((name) => ({ name, description })),
    )
  return `#compdef transferd
# Completes transferd in zsh, generated by \`transferd completion zsh\`.
_transferd() {
  local path_= option= optional=0 count=0 word current=$words[CURRENT]
  local -a before=("\${(@)words[2,CURRENT-1]}") found
  if [[ $current == --*=* ]]; then
    before+=("\${current%%=*}")
    compset -P '*='
    current=\${current#*=}
  fi
${walk(all).replaceAll('$path', '$path_').replaceAll(' path=', ' path_=')}
  if [[ $current == -* && ( -z $option || $optional == 1 ) ]]; then
    case $path_ in
${all.map((each) => `    ${quoted(each.path)}) ${described(optionsOf(each), 'option')} ;;`).join('\n')}
    esac
    return
  fi
  if [[ -z $option && $count == 0 ]]; then
    case $path_ in
${all
  .filter(({ subcommands }) => subcommands.length > 0)
  .map(({ path, subcommands }) => `    ${quoted(path)}) ${described(subcommands, 'command')} ;;`)
  .join('\n')}
    esac
  fi
  [[ -z $option ]] && option=$count
  case "$path_/$option" in
${suggestionCases(all, (suggestions) => {
  if (suggestions === 'files') return '_files'
  if ('listOf' in suggestions) return `compset -P '*,'; compadd -S '' -- ${suggestions.listOf.map(quoted).join(' ')}`
  return `compadd -- ${suggestions.map(quoted).join(' ')}`
}).join('\n')}
  esac
}
if [[ $funcstack[1] == _transferd ]]; then
  _transferd "$@"
else
  compdef _transferd transferd
fi
`
}

// --- fish

function fishScript(all: readonly Completed[]): string {
  const withValues = all.flatMap(({ path, options }) =>
    options
      .filter(({ value, isOptional }) => value !== undefined && !isOptional)
      .flatMap(({ flags }) => flags.map((flag) => fishQuoted(`${path}/${flag}`))),
  )
  const paths = all.filter(({ path }) => path !== '').map(({ path }) => fishQuoted(path))
  const complete = (condition: string, rest: string) => `complete -c transferd -n ${fishQuoted(condition)} ${rest}`
  const lines = all.flatMap(({ path, subcommands, options, args }) => {
    const at = `__transferd_at ${fishQuoted(path)}`
    return [
      ...subcommands.map(({ name, description }) => complete(`${at} 0`, `-a ${name} -d ${fishQuoted(description)}`)),
      ...options.map(({ flags, description, value, isOptional }) => {
        const names = flags.map((flag) => (flag.startsWith('--') ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`))
        return complete(at, `${names.join(' ')} ${fishValue(value, isOptional)}-d ${fishQuoted(description)}`)
      }),
      ...args.flatMap(({ suggestions, isVariadic }, n) => {
        if (suggestions === 'nothing') return []
        const values = suggestions === 'files' ? '-F' : `-a ${fishQuoted(fishWords(suggestions))}`
        return [complete(isVariadic ? at : `${at} ${n}`, values)]
      }),
    ]
  })
  return `# Completes transferd in fish, generated by \`transferd completion fish\`.
# Succeeds if the words before the cursor lead to this command, and if it has this number of arguments, if one is given.
function __transferd_at
    set -l path ''
    set -l count 0
    set -l skip 0
    for word in (commandline -opc)[2..-1]
        if test $skip = 1
            set skip 0
            continue
        end
        if string match -q -- '-*' $word
            contains -- "$path/$word" ${withValues.join(' ')}
            and set skip 1
            continue
        end
        set -l next (string trim -- "$path $word")
        if contains -- $next ${paths.join(' ')}
            set path $next
        else
            set count (math $count + 1)
        end
    end
    test "$path" = "$argv[1]"; and begin
        test (count $argv) = 1; or test $count = $argv[2]
    end
end
# Prints the words, each after the elements of the list before the cursor.
function __transferd_list
    set -l before (string replace -r '^--[^=]*=' '' -- (commandline -ct) | string replace -r '[^,]*$' '')
    printf '%s\n' "$before"$argv
end
complete -c transferd -f
${lines.join('\n')}
`
}

function fishValue(value: Suggestions | undefined, isOptional: boolean): string {
  if (value === undefined) return ''
  if (value === 'files') return '-r -F '
  const choices = value === 'nothing' ? '' : `-a ${fishQuoted(fishWords(value))} `
  return isOptional ? choices : `-x ${choices}`
}

function fishWords(suggestions: readonly string[] | ListSuggestions): string {
  return 'listOf' in suggestions ? `(__transferd_list ${suggestions.listOf.join(' ')})` : suggestions.join(' ')
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}

function fishQuoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
}
