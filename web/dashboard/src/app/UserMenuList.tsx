import { useNavigate } from '@tanstack/react-router'
import { Check } from 'lucide-react'
import type { RefObject } from 'react'
import { Header, type Key, Menu, MenuItem, MenuSection, Popover } from 'react-aria-components'
import { type Density, densities, type Theme, themes, useAppearance } from './appearance'
import { useSession } from './current-session'
import { useChosenLanguage } from './language'
import { useSignOut } from './SignOut'
import { type Language, languages } from './text-files'
import { useText } from './texts'
import '../components/Select.css'

interface UserMenuListProps {
  readonly button: RefObject<HTMLButtonElement | null>
  readonly close: () => void
}

export function UserMenuList({ button, close }: UserMenuListProps) {
  const text = useText()
  const { user } = useSession()
  const { language, choose: chooseLanguage } = useChosenLanguage()
  const { theme, density, chooseTheme, chooseDensity } = useAppearance()
  const { signOut } = useSignOut()
  const navigate = useNavigate()
  const act = (key: Key) => {
    if (key === 'account') void navigate({ to: '/account' })
    if (key === 'sign-out') signOut()
  }
  return (
    <Popover className="Popover" triggerRef={button} isOpen onOpenChange={close}>
      <Menu className="Options" aria-label={user.name} autoFocus="first" onAction={act} onClose={close}>
        <MenuItem id="account" textValue={text('account.title')} className="Option">
          <span>
            {text('account.title')}
            <br />
            <span className="muted small">{`${user.email} · ${text(`common.role.${user.role}`)}`}</span>
          </span>
        </MenuItem>
        <Choice
          title={text('shell.language')}
          chosen={language}
          options={Object.entries(languages)}
          onChoose={(key) => chooseLanguage(key as Language)}
        />
        <Choice
          title={text('shell.theme')}
          chosen={theme}
          options={themes.map((each) => [each, text(`shell.theme.${each}`)])}
          onChoose={(key) => chooseTheme(key as Theme)}
        />
        <Choice
          title={text('shell.density')}
          chosen={density}
          options={densities.map((each) => [each, text(`shell.density.${each}`)])}
          onChoose={(key) => chooseDensity(key as Density)}
        />
        <MenuItem id="sign-out" className="Option">
          {text('shell.signOut')}
        </MenuItem>
      </Menu>
    </Popover>
  )
}

interface ChoiceProps {
  readonly title: string
  readonly chosen: string
  readonly options: readonly (readonly [string, string])[]
  readonly onChoose: (key: string) => void
}

function Choice({ title, chosen, options, onChoose }: ChoiceProps) {
  return (
    <MenuSection
      selectionMode="single"
      disallowEmptySelection
      selectedKeys={[chosen]}
      onSelectionChange={(keys) => {
        const [key] = keys === 'all' ? [] : [...keys]
        if (key !== undefined) onChoose(String(key))
      }}
    >
      <Header className="Options-title">{title}</Header>
      {options.map(([key, label]) => (
        <MenuItem key={key} id={key} className="Option">
          {label}
          <Check className="Option-check icon-14" />
        </MenuItem>
      ))}
    </MenuSection>
  )
}
