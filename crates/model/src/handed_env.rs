//! Which variables a command cannot hand to later checks through `$ESCROW_ENV`: those that steer programs.
//!
//! An agent that could set `PATH` or `BASH_ENV` for the next check would choose what that check runs.

/// A row of the table in docs/commands.md. A name that ends with `*` stands for every name that begins so.
pub struct SteeringNames {
    pub names: &'static [&'static str],
    /// What they steer.
    pub steers: &'static str,
}

pub const STEERING_NAMES: &[SteeringNames] = &[
    SteeringNames { names: &["ESCROW_*", "OTEL_*"], steers: "Escrow" },
    SteeringNames {
        names: &["DYLD_*", "GCONV_PATH", "GLIBC_TUNABLES", "LD_*", "LOCPATH", "NLSPATH", "PATH"],
        steers: "which programs and libraries are loaded",
    },
    SteeringNames {
        names: &[
            "BASHOPTS",
            "BASH_*",
            "CDPATH",
            "ENV",
            "FPATH",
            "GLOBIGNORE",
            "IFS",
            "KSH_ENV",
            "PROMPT_COMMAND",
            "PS4",
            "SHELL",
            "SHELLOPTS",
            "ZDOTDIR",
        ],
        steers: "shells",
    },
    SteeringNames {
        names: &["HOME", "LOGNAME", "TEMP", "TMP", "TMPDIR", "USER", "XDG_*"],
        steers: "where programs look for their configuration and put their files",
    },
    SteeringNames {
        names: &[
            "BROWSER", "EDITOR", "EXINIT", "FCEDIT", "GVIMINIT", "LESS*", "MANOPT", "MANPAGER", "PAGER",
            "SUDO_*", "VIMINIT", "VISUAL",
        ],
        steers: "which helper a program starts",
    },
    SteeringNames { names: &["BUN_*", "DENO_*", "NODE_*", "NPM_*", "PNPM_*", "YARN_*"], steers: "Node.js" },
    SteeringNames {
        names: &["CONDA_*", "PIP_*", "POETRY_*", "PYTHON*", "UV_*", "VIRTUAL_ENV"],
        steers: "Python",
    },
    SteeringNames { names: &["BUNDLE_*", "GEM_*", "RUBY*"], steers: "Ruby" },
    SteeringNames { names: &["LUA_*", "PERL*", "PHP*"], steers: "Perl, PHP and Lua" },
    SteeringNames {
        names: &["CLASSPATH", "GRADLE_*", "JAVA_*", "JDK_*", "MAVEN_*", "_JAVA_OPTIONS"],
        steers: "Java",
    },
    SteeringNames {
        names: &[
            "AR",
            "CARGO*",
            "CC",
            "CFLAGS",
            "CGO_*",
            "CMAKE_*",
            "COMPILER_PATH",
            "CPATH",
            "CPLUS_INCLUDE_PATH",
            "CPP",
            "CPPFLAGS",
            "CXX",
            "CXXFLAGS",
            "C_INCLUDE_PATH",
            "GCC_*",
            "GNUMAKEFLAGS",
            "GO*",
            "LDFLAGS",
            "LIBRARY_PATH",
            "MAKE*",
            "MFLAGS",
            "NIX_*",
            "OBJC_INCLUDE_PATH",
            "PKG_CONFIG*",
            "RUST*",
        ],
        steers: "compilers and build tools",
    },
    SteeringNames {
        names: &["GIT_*", "GNUPGHOME", "HGRCPATH", "HG_*", "RSYNC_*", "SSH_*", "SVN_*"],
        steers: "git and ssh",
    },
    SteeringNames {
        names: &["GH_*", "GITHUB_*", "GITLAB_*"],
        steers: "GitHub and GitLab, and which account is used",
    },
    SteeringNames {
        names: &[
            "ANSIBLE_*",
            "AWS_*",
            "AZURE_*",
            "CLOUDSDK_*",
            "DOCKER_*",
            "GOOGLE_*",
            "HELM_*",
            "KUBE*",
            "TF_*",
            "VAULT_*",
        ],
        steers: "which cloud, cluster or account is changed",
    },
    SteeringNames {
        names: &[
            "ALL_PROXY",
            "CURL_*",
            "FTP_PROXY",
            "HOSTALIASES",
            "HTTPS_PROXY",
            "HTTP_PROXY",
            "LOCALDOMAIN",
            "NETRC",
            "NO_PROXY",
            "OPENSSL_*",
            "REQUESTS_CA_BUNDLE",
            "RES_OPTIONS",
            "SSLKEYLOGFILE",
            "SSL_*",
            "WGETRC",
        ],
        steers: "where requests go, and whom programs trust",
    },
    SteeringNames {
        names: &[
            "MYSQL_*",
            "PGDATABASE",
            "PGHOST",
            "PGHOSTADDR",
            "PGOPTIONS",
            "PGPASSFILE",
            "PGPORT",
            "PGSERVICE",
            "PGSERVICEFILE",
            "PGSSL*",
            "PGSYSCONFDIR",
            "PGUSER",
            "PSQLRC",
            "PSQL_*",
            "REDISCLI_*",
            "SQLITE_*",
        ],
        steers: "databases, and which of them is used",
    },
    SteeringNames {
        names: &[
            "AWKLIBPATH",
            "AWKPATH",
            "GAWK_READ_TIMEOUT",
            "GREP_OPTIONS",
            "GZIP",
            "PARALLEL",
            "PARALLEL_HOME",
            "POSIXLY_CORRECT",
            "TAR_OPTIONS",
            "UNZIP",
            "UNZIPOPT",
            "XZ_*",
            "ZIPOPT",
            "ZSTD_*",
        ],
        steers: "which options and code other tools take",
    },
];

/// What a variable steers, in upper or lower case.
pub fn steered_by(name: &str) -> Option<&'static str> {
    let name = name.to_ascii_uppercase();
    let is_meant = |pattern: &&str| match pattern.strip_suffix('*') {
        Some(beginning) => name.starts_with(beginning),
        None => name == *pattern,
    };
    STEERING_NAMES.iter().find(|row| row.names.iter().any(is_meant)).map(|row| row.steers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_steer_programs_are_known_in_every_case() {
        for name in [
            "PATH",
            "LD_PRELOAD",
            "BASH_ENV",
            "ENV",
            "NODE_OPTIONS",
            "GIT_SSH_COMMAND",
            "PYTHONSTARTUP",
            "http_proxy",
            "npm_config_registry",
            "ESCROW_RUN",
            "GOFLAGS",
            "RUSTC_WRAPPER",
            "CARGO",
            "PS4",
            "GNUMAKEFLAGS",
            "MFLAGS",
            "TAR_OPTIONS",
            "RSYNC_RSH",
            "VIMINIT",
            "EXINIT",
            "ZIPOPT",
            "UNZIP",
            "PSQLRC",
            "PGHOST",
            "PGHOSTADDR",
            "PGSERVICE",
            "PGSERVICEFILE",
            "PGPASSFILE",
            "PGOPTIONS",
            "PGSYSCONFDIR",
            "SUDO_ASKPASS",
            "GLIBC_TUNABLES",
            "CPATH",
            "C_INCLUDE_PATH",
            "CPLUS_INCLUDE_PATH",
            "LIBRARY_PATH",
            "PARALLEL",
            "NETRC",
            "GNUPGHOME",
            "NIX_CONFIG",
            "SSH_ASKPASS",
            "AWKPATH",
            "AWKLIBPATH",
            "SQLITE_HISTORY",
            "MANPAGER",
            "LESSOPEN",
            "LESSCLOSE",
            "DOCKER_HOST",
            "KUBECONFIG",
            "AWS_CONFIG_FILE",
        ] {
            assert!(steered_by(name).is_some(), "{name}");
        }
        for name in ["READY", "VERSION", "DRY_RUN", "PATHS", "MY_PATH", "ENVIRONMENT", "TARGET", "LANG"] {
            assert_eq!(steered_by(name), None, "{name}");
        }
    }

    #[test]
    fn names_are_sorted_and_unique() {
        for row in STEERING_NAMES {
            assert!(row.names.is_sorted_by(|one, next| one < next), "{:?}", row.names);
        }
        let mut all: Vec<&str> = STEERING_NAMES.iter().flat_map(|row| row.names).copied().collect();
        all.sort_unstable();
        assert!(all.windows(2).all(|pair| pair[0] != pair[1]));
    }

    #[test]
    fn the_page_about_commands_has_the_whole_table() {
        const PAGE: &str = include_str!("../../../docs/commands.md");
        for row in STEERING_NAMES {
            let names: Vec<String> = row.names.iter().map(|name| format!("`{name}`")).collect();
            let line = format!("| {} | {} |", names.join(", "), row.steers);
            assert!(PAGE.contains(&line), "missing: {line}");
        }
    }
}
