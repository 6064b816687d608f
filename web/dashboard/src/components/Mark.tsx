import './Mark.css'

interface MarkProps {
  readonly name: string
  /** A person's mark is round and shows two initials. */
  readonly person?: boolean
  /** The viewer. */
  readonly mine?: boolean
}

/** Identifies a merchant or a person at a glance. Screen readers get the name next to it, or its title. */
export function Mark({ name, person = false, mine = false }: MarkProps) {
  const words = name.split(' ').filter(Boolean)
  const last = person && words.length > 1 ? words.at(-1) : undefined
  const initials = [words[0], last].map((word) => [...(word ?? '')][0] ?? '').join('')
  return (
    <span aria-hidden="true" className={`Mark ${person ? 'Mark-person' : ''} ${mine ? 'Mark-mine' : ''}`}>
      {initials.toLocaleUpperCase()}
    </span>
  )
}
