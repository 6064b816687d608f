import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import {
  ArrowDown,
  ArrowUp,
  Languages,
  ListFilter,
  LogOut,
  type LucideIcon,
  Search,
  Store,
  SunMoon,
  User,
} from 'lucide-react'
import type { ReactNode, KeyboardEvent as TypedKey } from 'react'
import {
  Autocomplete,
  Dialog,
  Header,
  Input,
  Menu,
  MenuItem,
  MenuSection,
  Modal,
  ModalOverlay,
  TextField,
} from 'react-aria-components'
import type { SearchResponse } from '../../../../src/http/dashboard/api'
import { api } from '../api/api-client'
import { StatusBadge } from '../components/Badge'
import { searchedText } from '../components/form-data'
import { Time } from '../components/Time'
import { useAmounts } from '../components/use-amounts'
import { useDebounced } from '../components/use-debounced'
import { useAppearance } from './appearance'
import { currentSession } from './current-session'
import { useChosenLanguage } from './language'
import { useDestinations } from './navigation'
import { preference, setPreference } from './preferences'
import { useSignOut } from './SignOut'
import { useText } from './texts'
import './CommandPalette.css'

interface CommandPaletteProps {
  readonly typed: string
  readonly onType: (typed: string) => void
  readonly close: () => void
}

/** Finds pages, actions, transfers, merchants and users. */
export function CommandPalette(props: CommandPaletteProps) {
  const text = useText()
  return (
    <ModalOverlay className="CommandPalette-ground" isOpen onOpenChange={props.close} isDismissable>
      <Modal className="CommandPalette">
        <Dialog aria-label={text('shell.palette')} className="CommandPalette-dialog">
          <Palette {...props} />
        </Dialog>
      </Modal>
    </ModalOverlay>
  )
}

interface Entry {
  readonly id: string
  readonly icon: LucideIcon
  readonly title: string
  /** Replaces the title on the screen. */
  readonly shown?: ReactNode
  readonly subtitle?: ReactNode
  readonly run: () => void
}

const minSearchLength = 2

function Palette({ typed, onType, close }: CommandPaletteProps) {
  const text = useText()
  const searched = searchedText(typed)
  const query = useDebounced(searched)
  const isSearching = query.length >= minSearchLength
  const found = useQuery({
    queryKey: ['search', query],
    queryFn: ({ signal }) => api.get<SearchResponse>('/search', { text: query }, signal),
    enabled: isSearching,
    // The results of the shorter text stay until the next ones come, so that nothing jumps while one types.
    placeholderData: (before) => before,
  })
  const pages = matching(usePageEntries(), typed)
  const actions = matching(useActionEntries(), typed)
  const entriesOf = useResultEntries()
  const filters = useFilterEntries(query)
  const isSettled = query === searched && !found.isFetching
  const items = (isSearching && found.data?.items) || []
  const ofType = (...types: readonly string[]) => entriesOf(items.filter(({ type }) => types.includes(type)))
  const sections = [
    { title: text('shell.paletteRecent'), entries: typed === '' ? entriesOf(recentlyOpened()) : [] },
    { title: text('shell.paletteTransfers'), entries: ofType('transfer') },
    { title: text('merchants.title'), entries: ofType('merchant') },
    { title: text('users.title'), entries: ofType('user') },
    { title: text('shell.paletteGo'), entries: [...pages, ...(isSearching && isSettled ? filters : []), ...actions] },
  ].filter(({ entries }) => entries.length > 0)
  const run = new Map(sections.flatMap(({ entries }) => entries.map((entry) => [entry.id, entry.run] as const)))
  const hasFound = items.length + pages.length + actions.length > 0
  const note = found.error
    ? text('shell.paletteFailed')
    : isSettled && !hasFound
      ? text('shell.paletteNothing', { text: typed.trim() })
      : isSettled
        ? text('shell.paletteHelp')
        : text('shell.paletteSearching')
  // Results that come after the text was typed are not selected yet.
  const runFirst = ({ key, target }: TypedKey) => {
    const [first] = sections.flatMap(({ entries }) => entries)
    if (key !== 'Enter' || !first || !isSettled || (target as Element).hasAttribute('aria-activedescendant')) return
    close()
    first.run()
  }
  return (
    <Autocomplete inputValue={typed} onInputChange={onType}>
      <TextField aria-label={text('shell.palette')} autoFocus className="CommandPalette-field" onKeyDown={runFirst}>
        <Search className="icon-16" />
        <Input className="CommandPalette-input" placeholder={text('shell.palette')} />
        <kbd>{text('shell.escape')}</kbd>
      </TextField>
      <Menu
        className="Options CommandPalette-list"
        aria-label={text('shell.palette')}
        onAction={(key) => {
          close()
          run.get(String(key))?.()
        }}
      >
        {sections.map(({ title, entries }) => (
          <MenuSection key={title}>
            <Header className="Options-title">{title}</Header>
            {entries.map(({ id, icon: Icon, title: label, shown, subtitle }) => (
              <MenuItem key={id} id={id} textValue={label} className="Option CommandPalette-option">
                <Icon className="icon-16" />
                <span className="CommandPalette-title">{shown ?? <Matched label={label} typed={typed} />}</span>
                {subtitle && <span className="CommandPalette-aside">{subtitle}</span>}
              </MenuItem>
            ))}
          </MenuSection>
        ))}
      </Menu>
      <output className="CommandPalette-note">{note}</output>
    </Autocomplete>
  )
}

/** Marks the part of a label that was typed. */
function Matched({ label, typed }: { readonly label: string; readonly typed: string }) {
  const start = label.toLocaleLowerCase().indexOf(typed.trim().toLocaleLowerCase())
  const end = start + typed.trim().length
  if (start < 0 || end === start) return label
  return (
    <span>
      {label.slice(0, start)}
      <mark className="CommandPalette-match">{label.slice(start, end)}</mark>
      {label.slice(end)}
    </span>
  )
}

function matching(entries: readonly Entry[], typed: string): readonly Entry[] {
  const text = typed.trim().toLocaleLowerCase()
  return entries.filter(({ title }) => title.toLocaleLowerCase().includes(text))
}

function usePageEntries(): readonly Entry[] {
  const text = useText()
  const navigate = useNavigate()
  return useDestinations().map(({ to, label, icon }) => ({
    id: to,
    icon,
    title: text(label),
    run: () => void navigate({ to }),
  }))
}

function useActionEntries(): readonly Entry[] {
  const text = useText()
  const { chooseTheme } = useAppearance()
  const { language, choose: chooseLanguage } = useChosenLanguage()
  const { signOut } = useSignOut()
  const other = language === 'en' ? 'tr' : 'en'
  return [
    ...(['light', 'dark', 'system'] as const).map((theme) => ({
      id: `theme-${theme}`,
      icon: SunMoon,
      title: text('shell.themeAction', { theme: text(`shell.theme.${theme}`) }),
      run: () => chooseTheme(theme),
    })),
    { id: 'language', icon: Languages, title: text('shell.otherLanguage'), run: () => chooseLanguage(other) },
    { id: 'sign-out', icon: LogOut, title: text('shell.signOut'), run: signOut },
  ]
}

const icons = { transfer: ArrowDown, merchant: Store, user: User } as const

type Result = Omit<SearchResponse['items'][number], 'subtitle' | 'transfer'> &
  Partial<Pick<SearchResponse['items'][number], 'subtitle' | 'transfer'>>

/** Offers the lists with the typed text as their filter. */
function useFilterEntries(typed: string): readonly Entry[] {
  const text = useText()
  const navigate = useNavigate()
  return (['/deposits', '/withdrawals'] as const).map((to) => ({
    id: `filter-${to}`,
    icon: ListFilter,
    title: text(to === '/deposits' ? 'shell.depositsOf' : 'shell.withdrawalsOf', { text: typed }),
    run: () => void navigate({ to, search: { text: typed } }),
  }))
}

/** Returns a function that turns results into entries, which are remembered when they are opened. */
function useResultEntries(): (items: readonly Result[]) => readonly Entry[] {
  const navigate = useNavigate()
  const text = useText()
  const { format } = useAmounts()
  const go = {
    transfer: (trackingId: string) => navigate({ to: '/transfers/$trackingId', params: { trackingId } }),
    merchant: (merchantId: string) => navigate({ to: '/merchants/$merchantId', params: { merchantId } }),
    user: (userId: string) => navigate({ to: '/users/$userId', params: { userId } }),
  }
  return (items) =>
    items.map(({ type, id, title, subtitle, transfer }) => ({
      id: `${type}-${id}`,
      icon: transfer?.kind === 'withdrawal' ? ArrowUp : icons[type],
      title,
      ...(transfer && {
        shown: (
          <>
            <strong>{format(transfer.amountMinor)}</strong> <bdi>{subtitle}</bdi>{' '}
            <StatusBadge status={transfer.status} />
          </>
        ),
      }),
      subtitle: transfer ? (
        <>
          {text(`common.kind.${transfer.kind}`)} · <bdi>{title}</bdi> · <Time at={transfer.createdAt} />
        </>
      ) : (
        subtitle
      ),
      run: () => {
        remember({ type, id, title })
        void go[type](id)
      },
    }))
}

const maxRecent = 5

/** Only references and names of merchants and users are kept in this browser, and no data of customers. */
function recentlyOpened(): readonly Result[] {
  try {
    return JSON.parse(preference(recentName()) ?? '[]') as readonly Result[]
  } catch {
    return []
  }
}

function remember(result: Result): void {
  const others = recentlyOpened().filter(({ id }) => id !== result.id)
  setPreference(recentName(), JSON.stringify([result, ...others].slice(0, maxRecent)))
}

function recentName(): string {
  return `recent.${currentSession()?.user.userId ?? ''}`
}
